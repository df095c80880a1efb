// Sleep and wake by commands: good ones, failing ones, and those that never end.
#include "backends/command/command_sleep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <fstream>
#include <functional>

namespace penstock {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;

class CommandSleeps : public ::testing::Test {
 protected:
  // Runs the order; calls `meanwhile` in each turn of the loop.
  VerbEnd Run(Verb verb, const std::string& start, const std::string& stop, std::function<void()> meanwhile,
              Duration timeout = Duration::Seconds(20)) {
    std::optional<VerbEnd> end;
    const auto run = [&]() -> asio::awaitable<void> { end = co_await sleep_.Run(verb, start, stop, timeout); };
    asio::co_spawn(loop_, run(), asio::detached);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    loop_.restart();
    while (!end && std::chrono::steady_clock::now() < limit) {
      loop_.run_one_for(std::chrono::milliseconds(10));
      if (meanwhile) meanwhile();
    }
    return end.value_or(VerbEnd{VerbFault::kStopped, "the test gave up"});
  }
  std::function<void()> Polls(bool answered) {
    return [this, answered] { sleep_.OnPoll(answered); };
  }

  asio::io_context loop_;
  CommandSleep sleep_{loop_, {"PENSTOCK_REPLICA=r 1"}};
};

TEST_F(CommandSleeps, AwakeIsAnEngineThatAnswers) {
  EXPECT_TRUE(Run(Verb::kWake, "true", "false", Polls(true)).ok());
  EXPECT_TRUE(Run(Verb::kWake, "exec sleep 1000", "false", Polls(true)).ok()) << "the command may be the engine";
  EXPECT_TRUE(Run(Verb::kSleep, "", "true", Polls(false)).ok());
}

TEST_F(CommandSleeps, AWakeEndsAnEarlierStartThatHangs) {
  const std::string file = ::testing::TempDir() + "hanging_" + std::to_string(getpid());
  // A stopped process obeys SIGKILL only.
  ASSERT_TRUE(Run(Verb::kWake, "echo $$ > " + file + "; kill -STOP $$; exec sleep 1000", "false", [&] {
                sleep_.OnPoll(std::ifstream(file).peek() != EOF);
              }).ok());
  const std::string check = "test -s " + file + " && ! grep -q '^State:.[^Z]' /proc/$(cat " + file + ")/status";
  EXPECT_TRUE(Run(Verb::kWake, check + "; exit $?", "true",
                  [this] {
                    if (!sleep_.start_runs()) sleep_.OnPoll(true);
                  })
                  .ok())
      << "the second start finds nothing of the first";
  EXPECT_EQ(remove(file.c_str()), 0);
}

TEST_F(CommandSleeps, AsleepIsAnEngineWhoseHangingProcessHasEnded) {
  ASSERT_TRUE(Run(Verb::kWake, "kill -STOP $$; exec sleep 1000", "false", Polls(true)).ok());
  EXPECT_TRUE(sleep_.start_runs());
  EXPECT_TRUE(Run(Verb::kSleep, "", "true", Polls(false)).ok());
  EXPECT_FALSE(sleep_.start_runs());
}

TEST_F(CommandSleeps, AStopThatDoesNothingEndsAStartThatIsTheEngine) {
  ASSERT_TRUE(Run(Verb::kWake, "exec sleep 1000", "false", Polls(true)).ok());
  // The engine answers for as long as it runs.
  const VerbEnd end = Run(
      Verb::kSleep, "", "true", [this] { sleep_.OnPoll(sleep_.start_runs()); }, Duration::Milliseconds(500));
  EXPECT_TRUE(end.ok()) << end.message;
  EXPECT_FALSE(sleep_.start_runs());
}

TEST_F(CommandSleeps, AStartThatEndsByItselfIsNotKilled) {
  const std::string file = ::testing::TempDir() + "ending_" + std::to_string(getpid());
  ASSERT_TRUE(Run(Verb::kWake,
                  "trap 'echo killed > " + file + "' TERM; until test -e " + file + "; do sleep 0.01; done", "false",
                  Polls(true))
                  .ok());
  EXPECT_TRUE(Run(Verb::kSleep, "", "touch " + file, [this] { sleep_.OnPoll(sleep_.start_runs()); }).ok());
  EXPECT_EQ(std::ifstream(file).peek(), EOF) << "it got no signal";
  EXPECT_EQ(remove(file.c_str()), 0);
}

TEST_F(CommandSleeps, AnEngineThatIsNotTheStartStillHasToFallSilent) {
  ASSERT_TRUE(Run(Verb::kWake, "exec sleep 1000", "false", Polls(true)).ok());
  int polls = 0;
  EXPECT_TRUE(Run(Verb::kSleep, "", "true", [&] {
                if (!sleep_.start_runs()) sleep_.OnPoll(++polls < 3);
              }).ok());
  EXPECT_GE(polls, 3);
}

TEST_F(CommandSleeps, TheCommandsKnowTheReplica) {
  const VerbEnd end = Run(Verb::kWake, "echo \"no such replica: $PENSTOCK_REPLICA\"; exit 4", "true", nullptr);
  EXPECT_EQ(end.fault, VerbFault::kCommand);
  EXPECT_EQ(end.message, "the start command ended with status 4; its last output: no such replica: r 1");
}

TEST_F(CommandSleeps, AnEngineThatNeverAnswersIsStoppedAgain) {
  const std::string mark = ::testing::TempDir() + "stopped_" + std::to_string(getpid());
  const VerbEnd end =
      Run(Verb::kWake, "echo loading; exec sleep 1000", "echo x > " + mark, Polls(false), Duration::Milliseconds(300));
  EXPECT_EQ(end.fault, VerbFault::kTimeout);
  EXPECT_EQ(end.message, "the engine did not answer in time after its start command; its last output: loading");
  EXPECT_EQ(remove(mark.c_str()), 0) << "the stop command ran";
}

TEST_F(CommandSleeps, AFailedWakeHoldsMemoryWhereItsStartEndedWellAndItsStopFails) {
  const auto failed = [this](const std::string& start, const std::string& stop) {
    const VerbEnd end = Run(Verb::kWake, start, stop, Polls(false), Duration::Milliseconds(300));
    EXPECT_FALSE(end.ok());
    return end.holds;
  };
  EXPECT_TRUE(failed("true", "exit 1")) << "what it started may live";
  EXPECT_FALSE(failed("true", "true"));
  EXPECT_FALSE(failed("exec sleep 1000", "exit 1")) << "it was the engine, and was killed";
  EXPECT_FALSE(failed("exit 7", "exit 1")) << "there was no engine";
}

TEST_F(CommandSleeps, AStopThatFailsIsAFault) {
  const VerbEnd end = Run(Verb::kSleep, "", "echo denied >&2; exit 1", Polls(true));
  EXPECT_EQ(end.fault, VerbFault::kCommand);
  EXPECT_EQ(end.message, "the stop command ended with status 1; its last output: denied");
}

TEST_F(CommandSleeps, AStopThatNeverEndsIsGivenUp) {
  const VerbEnd end = Run(Verb::kSleep, "", "exec sleep 1000", Polls(true), Duration::Milliseconds(200));
  EXPECT_EQ(end.fault, VerbFault::kTimeout);
  EXPECT_THAT(end.message, HasSubstr("the stop command did not end in time"));
}

TEST_F(CommandSleeps, AnEngineThatAnswersOnIsNotAsleep) {
  const VerbEnd end = Run(Verb::kSleep, "", "true", Polls(true), Duration::Milliseconds(300));
  EXPECT_EQ(end.fault, VerbFault::kUnchanged);
  EXPECT_THAT(end.message, HasSubstr("still answers after its stop command"));
}

TEST_F(CommandSleeps, AWakeOfAReplicaThatLeavesIsUndone) {
  const std::string mark = ::testing::TempDir() + "left_" + std::to_string(getpid());
  const VerbEnd end = Run(Verb::kWake, "exec sleep 1000", "echo x > " + mark, [this] { sleep_.Abandon(); });
  EXPECT_EQ(end.fault, VerbFault::kStopped);
  EXPECT_FALSE(sleep_.start_runs());
  EXPECT_EQ(remove(mark.c_str()), 0) << "the stop command ran";
}

TEST_F(CommandSleeps, AStoppedRouterGivesUpAtOnce) {
  EXPECT_EQ(Run(Verb::kWake, "exec sleep 1000", "true", [this] { sleep_.Stop(); }).fault, VerbFault::kStopped);
}

}  // namespace
}  // namespace penstock
