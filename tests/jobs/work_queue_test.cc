// The order of works on the store's thread.
#include "router/jobs/worker/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/jobs/store_folder.h"

namespace penstock::jobs {
namespace {

using ::testing::ElementsAre;

class Named {
 public:
  WorkQueue::Work Work(const std::string& name) {
    return [this, name](JobStore&) { ran_.push_back(name); };
  }
  std::vector<std::string> RunAll(WorkQueue& queue) {
    while (!queue.empty()) queue.Pop()(*store_);
    return ran_;
  }

 private:
  const StoreFolder folder_;
  const std::unique_ptr<JobStore> store_ = folder_.Open();
  std::vector<std::string> ran_;
};

TEST(WorkQueue, CallersTakeTurnsHoweverManyWorksOneHas) {
  Named named;
  WorkQueue queue;
  for (const char* work : {"a1", "a2", "a3", "a4"}) queue.PushInTurn(1, named.Work(work));
  queue.PushInTurn(2, named.Work("b1"));
  queue.PushInTurn(3, named.Work("c1"));
  queue.PushInTurn(2, named.Work("b2"));
  EXPECT_THAT(named.RunAll(queue), ElementsAre("a1", "b1", "c1", "a2", "b2", "a3", "a4"));
}

TEST(WorkQueue, WorksOfTheRouterAndOfClientsAlternate) {
  Named named;
  WorkQueue queue;
  for (const char* work : {"c1", "c2", "c3"}) queue.PushInTurn(1, named.Work(work));
  for (const char* work : {"w1", "w2"}) queue.Push(named.Work(work));
  EXPECT_THAT(named.RunAll(queue), ElementsAre("w1", "c1", "w2", "c2", "c3"));
}

TEST(WorkQueue, WorksOfTheRouterKeepTheirOrder) {
  Named named;
  WorkQueue queue;
  for (const char* work : {"w1", "w2", "w3"}) queue.Push(named.Work(work));
  EXPECT_THAT(named.RunAll(queue), ElementsAre("w1", "w2", "w3"));
}

}  // namespace
}  // namespace penstock::jobs
