// The configuration of replicas that sleep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/config.h"
#include "config/values/capacity.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string Sleeper(const std::string& sleep, const std::string& more = "model: m") {
  return absl::StrCat("replicas: [{url: http://h:1, ", more, ", sleep: {", sleep, "}}]\n");
}
std::string SleepFindings(const std::string& sleep, const std::string& more = "model: m") {
  return FindingsOf(Sleeper(sleep, more));
}
const std::string kCommands = "by: command, start: up, stop: down";

TEST(SleepKeys, AReplicaIsAwakeForeverByDefault) {
  EXPECT_FALSE(Parsed(WithReplica("")).replicas[0].sleep.has_value());
  const ReplicaSleepConfig all_defaults = *Parsed(Sleeper("")).replicas[0].sleep;
  EXPECT_EQ(all_defaults, ReplicaSleepConfig());
}

TEST(SleepKeys, AreReadAndPrinted) {
  const Config config = Parsed(Sleeper("after: 3s, wake: 2s, level: 2, timeout: 1m"));
  const ReplicaSleepConfig& sleep = *config.replicas[0].sleep;
  EXPECT_EQ(sleep.after, Duration::Seconds(3));
  EXPECT_EQ(sleep.wake, Duration::Seconds(2));
  EXPECT_EQ(sleep.level, 2);
  EXPECT_EQ(sleep.timeout, Duration::Seconds(60));
  EXPECT_EQ(Parsed(PrintConfig(config)).replicas[0].sleep, config.replicas[0].sleep);
  const Config commands = Parsed(Sleeper("by: command, start: 'a \"b\" && c', stop: 'd # e'"));
  EXPECT_EQ(commands.replicas[0].sleep->start, "a \"b\" && c");
  EXPECT_EQ(Parsed(PrintConfig(commands)).replicas[0].sleep, commands.replicas[0].sleep);
}

TEST(SleepKeys, ALongWakeMovesTheTimeoutThatIsLeftOut) {
  EXPECT_EQ(Parsed(Sleeper("wake: 10m")).replicas[0].sleep->timeout, Duration::Seconds(1800));
  EXPECT_THAT(SleepFindings("wake: 10s, timeout: 10s"),
              HasSubstr("replicas[0].sleep.timeout: must be longer than wake"));
}

TEST(SleepKeys, CommandsBelongToByCommand) {
  EXPECT_THAT(SleepFindings(kCommands), IsEmpty());
  EXPECT_THAT(SleepFindings("by: command, start: up"), HasSubstr("sleep.stop: is required with by: command"));
  EXPECT_THAT(SleepFindings("by: command, stop: down"), HasSubstr("sleep.start: is required with by: command"));
  EXPECT_THAT(SleepFindings("start: up"), HasSubstr("sleep.start: needs by: command"));
  EXPECT_THAT(SleepFindings("stop: down"), HasSubstr("sleep.stop: needs by: command"));
  EXPECT_THAT(SleepFindings("by: command, start: '', stop: down"), HasSubstr("must not be empty"));
  EXPECT_THAT(SleepFindings("by: command, start: , stop: down"), HasSubstr("must not be empty"));
  EXPECT_THAT(SleepFindings("by: command, start: up, stop: [down]"),
              AllOf(HasSubstr("must be a text, is a list"), Not(HasSubstr("must not be empty"))));
  EXPECT_THAT(SleepFindings("by: magic"), HasSubstr("sleep.by: unknown name \"magic\""));
  EXPECT_THAT(SleepFindings("by: command, start: up, stop: down, level: 1"),
              HasSubstr("sleep.level: is a level of vLLM"));
}

TEST(SleepKeys, AStoppedEngineCannotBeAskedForItsModel) {
  EXPECT_THAT(SleepFindings(kCommands, "key: ''"), HasSubstr("replicas[0].model: is required with sleep by: command"));
}

TEST(SleepKeys, LevelsAreThoseOfVllm) {
  EXPECT_THAT(SleepFindings("level: 3"), HasSubstr("sleep.level"));
  EXPECT_THAT(SleepFindings("level: 2", "engine: vllm"), IsEmpty());
  EXPECT_THAT(SleepFindings("level: 2", "engine: ollama, model: m"), HasSubstr("has a level of vLLM"));
}

TEST(SleepKeys, ASimulatedEngineSleepsByOrderOrByItself) {
  const std::string head = "gpus: [{id: g, kind: a100-80}]\nreplicas: [{id: a, gpus: [g], model: llama-3.1-8b, ";
  EXPECT_THAT(FindingsOf(head + "sleep: {}, simulated: {}}]\n"), IsEmpty());
  EXPECT_THAT(FindingsOf(head + "sleep: {}, simulated: {sleep_after: 5s}}]\n"), HasSubstr("exclude each other"));
  EXPECT_THAT(FindingsOf(head + "sleep: {" + kCommands + "}, simulated: {}}]\n"), HasSubstr("needs a url"));
}

TEST(SleepKeys, ReplicasThatNameTheirModelsMayShareAServer) {
  const auto two = [](const std::string& a, const std::string& b) {
    return FindingsOf("replicas: [{id: a, url: http://h:1, " + a + "}, {id: b, url: http://h:1/, " + b + "}]\n");
  };
  EXPECT_THAT(two("model: m, sleep: {}", "model: n, sleep: {}"), IsEmpty());
  EXPECT_THAT(two("model: m, sleep: {}", "model: m, sleep: {}"), HasSubstr("duplicate url"));
  EXPECT_THAT(two("model: m, sleep: {}", "model: n"), HasSubstr("duplicate url, already the engine of replicas[0]"));
  EXPECT_THAT(two("model: m", "model: n, sleep: {}"), HasSubstr("duplicate url, already the engine of replicas[0]"));
  EXPECT_THAT(two("sleep: {}", "sleep: {}"), HasSubstr("duplicate url"));
}

TEST(SleepKeys, APolicyWithoutSleepIsAWarning) {
  EXPECT_THAT(Warnings(Parsed(Sleeper(""))), Not(::testing::Contains(HasSubstr("sleep"))));
  EXPECT_THAT(Warnings(Parsed("policy: round_robin\n" + Sleeper(""))),
              ::testing::Contains(HasSubstr("sleep has no effect with the policy round_robin")));
}

// Two models of which one fits.
std::string OnOneGpu(const std::string& first, const std::string& second) {
  return "gpus: [{id: g, kind: a100-80, memory: 40GB}]\n"
         "replicas:\n"
         "  - {id: a, url: http://h:1, gpus: [g], model: llama-3.1-8b, kv_memory: 10GB" +
         first + "}\n  - {id: b, url: http://h:2, gpus: [g], model: qwen2.5-7b, kv_memory: 20GB" + second + "}\n";
}

TEST(SleepMemory, ReplicasThatSleepNeedNotFitTogether) {
  EXPECT_THAT(FindingsOf(OnOneGpu("", "")), HasSubstr("above the GPU's 40GB"));
  EXPECT_THAT(FindingsOf(OnOneGpu(", sleep: {}", ", sleep: {}")), IsEmpty());
  EXPECT_THAT(FindingsOf(OnOneGpu("", ", sleep: {}")), HasSubstr("of a, b take"));
}

TEST(SleepMemory, TheReplicaKnowsItsOwnMemoryBest) {
  EXPECT_THAT(FindingsOf(OnOneGpu(", resident: 41GB, sleep: {}", ", sleep: {}")),
              HasSubstr("weights 41GB and KV 0GB of a"));
  const Config config = Parsed(OnOneGpu(", resident: 30GB, sleep: {}", ", sleep: {}"));
  EXPECT_EQ(ResidentPerGpu(config, config.replicas[0], "llama-3.1-8b", Bytes(5)).total(), Bytes(30'000'000'000));
  EXPECT_EQ(ResidentPerGpu(config, config.replicas[1], "qwen2.5-7b", Bytes(5)).kv, Bytes(5));
}

std::vector<std::string> QueueWarnings(const std::string& replicas, const std::string& more) {
  std::vector<std::string> found;
  for (std::string& warning : Warnings(Parsed("replicas:\n" + replicas + more))) {
    if (absl::StrContains(warning, "is not longer than the wake")) found.push_back(std::move(warning));
  }
  return found;
}

TEST(SleepWarnings, AQueueTimeThatIsNotLongerThanTheWakeIsNamed) {
  const std::string sleeper = "  - {id: a, url: http://h:1, model: m, sleep: {wake: 40s}}\n";
  EXPECT_THAT(QueueWarnings(sleeper, ""), IsEmpty());
  EXPECT_THAT(QueueWarnings(sleeper, "classes: {standard: {queue: 41s}}\n"), IsEmpty());
  EXPECT_THAT(
      QueueWarnings(sleeper, "classes: {standard: {queue: 40s}}\n"),
      ElementsAre("classes: standard: queue of 40s is not longer than the wake of m, 40s: requests that find it "
                  "asleep are refused"));
  EXPECT_THAT(QueueWarnings(sleeper, "classes: {interactive: {queue: 5s}}\n"), IsEmpty()) << "nobody has it";
  EXPECT_THAT(QueueWarnings(sleeper, "classes: {interactive: {queue: 5s}}\nmodels: [{name: m, class: interactive}]\n"),
              ElementsAre(HasSubstr("interactive")));
  EXPECT_THAT(QueueWarnings(sleeper, "classes: {standard: {queue: 9s}}\npolicy: round_robin\n"), IsEmpty());
}

TEST(SleepWarnings, APolicyThatWakesNoReplicaIsNamed) {
  const std::string sleeper = "replicas: [{id: a, url: http://h:1, model: m, sleep: {wake: 4s}}]\n";
  EXPECT_THAT(Warnings(Parsed(sleeper + "policy: round_robin\n")), Contains(HasSubstr("round_robin wakes no replica")));
  EXPECT_THAT(Warnings(Parsed(sleeper + "policy: present_use\n")), Not(Contains(HasSubstr("wakes no replica"))));
}

TEST(SleepWarnings, AStopThatDoesNothingIsNamed) {
  const auto named = [](const std::string& stop, const std::string& by = "by: command, start: up") {
    std::string row = "replicas: [{id: a, url: http://h:1, model: m, sleep: {" + by;
    if (!stop.empty()) row += ", stop: '" + stop + "'";
    return Warnings(Parsed(row + "}}]\n"));
  };
  const auto warning = ::testing::Contains(HasSubstr("replicas: a: sleep: stop does nothing"));
  for (const std::string stop : {"true", " true ", ":", "/bin/true", "exit 0"}) EXPECT_THAT(named(stop), warning);
  EXPECT_THAT(named("kill $(cat pid)"), Not(warning));
  EXPECT_THAT(named("", "by: auto"), Not(warning));
}

TEST(SleepWarnings, AServerThatIsAwakeOrWakesSoonerServes) {
  const std::string sleeper = "  - {id: a, url: http://h:1, model: m, sleep: {wake: 40s}}\n";
  const std::string classes = "classes: {standard: {queue: 30s}}\n";
  EXPECT_THAT(QueueWarnings(sleeper + "  - {id: b, url: http://h:2, model: m}\n", classes), IsEmpty());
  EXPECT_THAT(QueueWarnings(sleeper + "  - {id: b, url: http://h:2, model: m, sleep: {wake: 9s}}\n", classes),
              IsEmpty());
  EXPECT_THAT(QueueWarnings(sleeper + "  - {id: b, url: http://h:2}\n", classes), IsEmpty()) << "it may serve m";
  EXPECT_THAT(QueueWarnings(sleeper + "  - {id: b, url: http://h:2, model: n}\n", classes), SizeIs(1));
}

}  // namespace
}  // namespace penstock
