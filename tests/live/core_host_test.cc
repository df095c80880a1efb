#include "router/live/core_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/live/recording_core.h"

namespace penstock {
namespace {

class CoreHosts : public testing::Test {
 protected:
  CoreHosts()
      : first_(io_, [this](const RequestAction& action) { delivered_[0].push_back(action); }),
        second_(io_, [this](const RequestAction& action) { delivered_[1].push_back(action); }),
        host_(std::make_unique<RecordingCore>(record_), io_, {&first_, &second_}, {}) {}

  CoreRecord record_;
  boost::asio::io_context io_;
  std::vector<RequestAction> delivered_[2];
  Mailbox first_;
  Mailbox second_;
  CoreHost host_;
};

TEST(RequestIds, NameTheirLoop) {
  for (size_t loop : {size_t{0}, size_t{1}, kMaxLoops - 1}) {
    EXPECT_EQ(LoopOf(MakeRequestId(1, loop)), loop);
    EXPECT_EQ(LoopOf(MakeRequestId(123'456'789, loop)), loop);
  }
  EXPECT_NE(MakeRequestId(1, 0), MakeRequestId(1, 1));
}

TEST_F(CoreHosts, AnActionGoesToTheLoopOfItsRequestInDecisionOrder) {
  record_.answer = [](const Event& event) -> std::vector<Action> {
    const RequestId id = std::get<FirstToken>(event).request;
    return {Park{id, WaitReason::kMemory, 1}, Abort{id, LeaseId(9)}};
  };
  host_.Submit(FirstToken{MakeRequestId(1, 1)});
  host_.Submit(FirstToken{MakeRequestId(2, 0)});
  io_.run();
  ASSERT_EQ(delivered_[0].size(), 2u);
  ASSERT_EQ(delivered_[1].size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Park>(delivered_[1][0]));
  EXPECT_TRUE(std::holds_alternative<Abort>(delivered_[1][1]));
  EXPECT_EQ(RequestOf(delivered_[0][0]), MakeRequestId(2, 0));
}

TEST(FleetActions, GoToTheirHookInDecisionOrder) {
  CoreRecord record;
  boost::asio::io_context io;
  std::vector<FleetAction> ordered;
  CoreHost::Hooks hooks;
  hooks.on_fleet_action = [&](const FleetAction& action) { ordered.push_back(action); };
  CoreHost host(std::make_unique<RecordingCore>(record), io, {}, std::move(hooks));
  record.answer = [](const Event&) -> std::vector<Action> { return {Sleep{ReplicaId(1)}, Wake{ReplicaId(2)}}; };
  host.Submit(FirstToken{MakeRequestId(1, 0)});
  ASSERT_EQ(ordered.size(), 2u);
  EXPECT_EQ(ordered[0], FleetAction(Sleep{ReplicaId(1)}));
  EXPECT_EQ(ordered[1], FleetAction(Wake{ReplicaId(2)}));
}

TEST_F(CoreHosts, AnActionForALoopThatDoesNotExistIsDropped) {
  record_.answer = [](const Event&) -> std::vector<Action> {
    return {Park{MakeRequestId(1, 7), WaitReason::kMemory, 0}};
  };
  host_.Submit(FirstToken{MakeRequestId(1, 7)});
  io_.run();
  EXPECT_TRUE(delivered_[0].empty());
  EXPECT_TRUE(delivered_[1].empty());
}

TEST_F(CoreHosts, TimeNeverGoesBackWhicheverThreadCalls) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < 500; ++n) host_.Submit(TimerFired{});
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(record_.events.size(), 2'000u);
  EXPECT_TRUE(std::is_sorted(record_.events.begin(), record_.events.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; }));
}

TEST_F(CoreHosts, TheTimerFiresAtTheNextDeadlineAndNotBefore) {
  const Instant due = Now() + Duration::Milliseconds(20);
  record_.next_deadline = due;
  host_.Submit(FirstToken{MakeRequestId(1, 0)});
  io_.run();
  ASSERT_EQ(record_.Of<TimerFired>().size(), 1u);
  EXPECT_GE(record_.events.back().second, due);
}

TEST_F(CoreHosts, AnEarlierDeadlineReplacesALaterOne) {
  record_.next_deadline = Now() + Duration::Seconds(3600);
  host_.Submit(FirstToken{MakeRequestId(1, 0)});
  io_.poll();
  record_.next_deadline = Now() + Duration::Milliseconds(5);
  host_.Submit(FirstToken{MakeRequestId(1, 0)});
  io_.run();
  EXPECT_EQ(record_.Of<TimerFired>().size(), 1u);
}

TEST_F(CoreHosts, AStoppedTimerStaysStopped) {
  record_.next_deadline = Now() + Duration::Milliseconds(5);
  host_.Submit(FirstToken{MakeRequestId(1, 0)});
  host_.StopTimer();
  io_.run();
  EXPECT_TRUE(record_.Of<TimerFired>().empty());
}

TEST_F(CoreHosts, AnArrivalGetsTheEstimateOfItsPrompt) {
  CoreHost::Prompt prompt;
  prompt.all.text.latin = 4'000;
  const PromptEstimate estimate = host_.SubmitArrival(RequestArrived(), prompt);
  ASSERT_EQ(record_.Of<RequestArrived>().size(), 1u);
  EXPECT_GT(estimate.tokens, Tokens(0));
  EXPECT_EQ(record_.Of<RequestArrived>()[0].prompt, estimate.tokens);
  EXPECT_EQ(record_.Of<RequestArrived>()[0].prompt_sigma, estimate.relative_sigma);
}

// A list of prompts is over the context only if one of them is.
TEST_F(CoreHosts, AListOfShortPromptsIsNotOverTheContext) {
  CoreHost::Prompt prompt;
  prompt.all.text.latin = 400'000;
  prompt.largest.latin = 400;
  prompt.max_context = Tokens(1'000);
  EXPECT_GT(host_.SubmitArrival(RequestArrived(), prompt).tokens, Tokens(1'000));
  EXPECT_EQ(record_.Of<RequestArrived>()[0].prompt, Tokens(999));
  prompt.largest = prompt.all.text;
  host_.SubmitArrival(RequestArrived(), prompt);
  EXPECT_GT(record_.Of<RequestArrived>()[1].prompt, Tokens(1'000));
}

TEST_F(CoreHosts, EveryEventIsRecordedWithItsActions) {
  std::vector<size_t> actions_of_event;
  int decisions = 0;
  CoreHost::Hooks hooks;
  hooks.record = [&](const Event&, Instant, const std::vector<Action>& actions) {
    actions_of_event.push_back(actions.size());
  };
  hooks.on_decision = [&](Duration spent) {
    EXPECT_GE(spent, Duration());
    ++decisions;
  };
  CoreRecord record;
  CoreHost host(std::make_unique<RecordingCore>(record), io_, {&first_, &second_}, std::move(hooks));
  host.Submit(TimerFired{});
  record.answer = [](const Event&) -> std::vector<Action> { return {Abort{MakeRequestId(1, 0), LeaseId(1)}}; };
  host.Submit(TimerFired{});
  EXPECT_EQ(actions_of_event, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(decisions, 2);
}

}  // namespace
}  // namespace penstock
