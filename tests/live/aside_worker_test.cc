#include "router/live/aside/aside_worker.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "router/live/aside/run_aside.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

// Holds the worker until it is let go.
class Hold {
 public:
  explicit Hold(AsideWorker& worker) {
    const auto began = std::make_shared<std::promise<void>>();
    worker.Run(0, [began, go = go_.get_future().share()] {
      began->set_value();
      go.wait();
    });
    began->get_future().wait();
  }
  void LetGo() { go_.set_value(); }

 private:
  std::promise<void> go_;
};

TEST(AsideWorkerTest, RunsOnAThreadOfItsOwn) {
  const auto worker = std::make_shared<AsideWorker>();
  std::promise<std::thread::id> ran;
  worker->Run(1, [&ran] { ran.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(AsideWorkerTest, OfThoseThatWaitTheSmallestGoesFirstAndEqualOnesAsTheyCame) {
  const auto worker = std::make_shared<AsideWorker>();
  Hold hold(*worker);
  std::vector<std::string> order;  // The worker's alone until the last piece has run.
  std::promise<void> last;
  worker->Run(30, [&] { order.emplace_back("a"); });
  worker->Run(40, [&] { last.set_value(); });
  worker->Run(10, [&] { order.emplace_back("b"); });
  worker->Run(30, [&] { order.emplace_back("c"); });
  hold.LetGo();
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<std::string>{"b", "a", "c"}));
}

TEST(AsideWorkerTest, AnotherThreadRunsWhatComesBehindTheLastPiece) {
  const auto worker = std::make_shared<AsideWorker>();
  for (int i = 0; i < 100; ++i) {
    std::promise<void> ran;
    worker->Run(1, [&ran] { ran.set_value(); });
    ran.get_future().wait();
  }
}

TEST(AsideWorkerTest, TheEndOfTheLoopDropsWhatWaitsAndWhatComes) {
  const auto owned = std::make_shared<int>(0);
  std::shared_ptr<AsideWorker> worker;
  std::optional<Hold> hold;
  {
    asio::io_context loop;
    worker = AsideWorker::Of(loop);
    EXPECT_EQ(worker, AsideWorker::Of(loop));
    hold.emplace(*worker);
    worker->Run(1, [owned] { ++*owned; });
    EXPECT_EQ(owned.use_count(), 2);
  }
  EXPECT_EQ(owned.use_count(), 1);
  worker->Run(1, [owned] { ++*owned; });
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(*owned, 0);
  hold->LetGo();
}

// Runs the work aside for a coroutine of a loop, and returns what it made, or the words of its exception.
template <class Work>
std::string MadeBy(Work work) {
  asio::io_context loop;
  std::string made;
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        try {
          made = co_await RunAside(loop, 1, std::move(work));
        } catch (const std::runtime_error& error) {
          made = error.what();
        }
      },
      asio::detached);
  const auto busy = asio::make_work_guard(loop);
  while (made.empty()) loop.run_one();
  return made;
}

TEST(RunAsideTest, TheCoroutineGetsWhatTheWorkMade) {
  EXPECT_EQ(MadeBy([text = std::make_unique<std::string>("made")] { return *text; }), "made");
}

TEST(RunAsideTest, AnExceptionOfTheWorkIsOneOfTheCoroutine) {
  EXPECT_EQ(MadeBy([]() -> std::string { throw std::runtime_error("broken"); }), "broken");
}

}  // namespace
}  // namespace penstock
