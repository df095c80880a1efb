#include "router/telemetry/log/decision_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "tests/telemetry/decision_log_file.h"

namespace penstock {
namespace {

using nlohmann::json;
using Kind = DecisionEntry::Kind;

TEST(FormatDecision, WritesWhatIsSetAndLeavesOutTheRest) {
  DecisionEntry entry;
  entry.kind = Kind::kRefuse;
  entry.request_id = "req-1";
  entry.reason = "queue_full";
  entry.status = 429;
  entry.prompt_estimate = Tokens(120);
  entry.prompt = Tokens(118);
  entry.retry_after = Duration::Milliseconds(1500);
  const json line = json::parse(FormatDecision(entry, 12.5));
  EXPECT_EQ(line, (json{{"time", "1970-01-01T00:00:12.500000Z"},
                        {"level", "warning"},
                        {"event", "refuse"},
                        {"request", "req-1"},
                        {"reason", "queue_full"},
                        {"status", 429},
                        {"prompt_tokens_estimate", 120},
                        {"prompt_tokens", 118},
                        {"retry_after_s", 1.5}}));
}

TEST(FormatDecision, IsOneLineOfValidJsonWhateverTheClientNamed) {
  DecisionEntry entry;
  entry.kind = Kind::kError;
  entry.model = std::string("a\nb\"c\\\xff\xfe", 8);
  entry.message = std::string(5000, 'x');
  const std::string text = FormatDecision(entry, 0);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const json line = json::parse(text);
  EXPECT_EQ(line["message"].get<std::string>().size(), 512u);
}

TEST_F(DecisionLogFile, WritesRefusalsAndErrorsByDefault) {
  auto log = Open(/*all=*/false);
  for (Kind kind :
       {Kind::kForward, Kind::kPark, Kind::kAbort, Kind::kEnd, Kind::kRefuse, Kind::kError, Kind::kNotice}) {
    EXPECT_EQ(log->Wants(kind), kind == Kind::kRefuse || kind == Kind::kError || kind == Kind::kNotice);
    log->Write({.kind = kind});
  }
  log->Flush();
  const auto lines = Lines(path_);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["event"], "refuse");
  EXPECT_EQ(lines[1]["event"], "error");
  EXPECT_EQ(lines[2]["event"], "notice");
}

TEST_F(DecisionLogFile, WritesEveryDecisionInOrderOnDemand) {
  auto log = Open(/*all=*/true, 10'000);
  for (int i = 0; i < 2000; ++i) log->Write({.kind = Kind::kForward, .request_id = std::to_string(i)});
  log.reset();
  const auto lines = Lines(path_);
  ASSERT_EQ(lines.size(), 2000u);
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(lines[i]["request"], std::to_string(i));
}

TEST_F(DecisionLogFile, CountsWhatAFullQueueDrops) {
  auto log = Open(/*all=*/true, 4);
  for (int i = 0; i < 20'000; ++i) log->Write({.kind = Kind::kForward});
  log->Flush();
  int64_t written = 0;
  for (const json& line : Lines(path_)) written += line["event"] == "forward" ? 1 : 0;
  EXPECT_EQ(written + log->dropped(), 20'000);
  EXPECT_GT(log->dropped(), 0);
}

TEST_F(DecisionLogFile, LosesNothingWhenManyThreadsWrite) {
  auto log = Open(/*all=*/true, 100'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 1000; ++i) log->Write({.kind = Kind::kEnd, .model = "m"});
    });
  }
  for (std::thread& thread : threads) thread.join();
  log->Flush();
  EXPECT_EQ(Lines(path_).size(), 4000u);
  EXPECT_EQ(log->dropped(), 0);
}

TEST_F(DecisionLogFile, GoesOnInANewFileAfterARotation) {
  auto log = Open(/*all=*/false);
  log->Write({.kind = Kind::kError, .message = "before"});
  log->Flush();
  const std::filesystem::path moved = path_.string() + ".1";
  std::filesystem::rename(path_, moved);
  log->Reopen();
  log->Write({.kind = Kind::kError, .message = "after"});
  log->Flush();
  EXPECT_EQ(Lines(moved).at(0)["message"], "before");
  EXPECT_EQ(Lines(path_).at(0)["message"], "after");
  std::filesystem::remove(moved);
}

TEST_F(DecisionLogFile, TheLevelLeavesOutWhatIsBelowIt) {
  const auto kinds = {Kind::kForward, Kind::kRefuse, Kind::kError, Kind::kNotice, Kind::kAccess};
  const std::vector<std::pair<LogLevel, size_t>> expected = {
      {LogLevel::kError, 1}, {LogLevel::kWarning, 2}, {LogLevel::kInfo, 5}, {LogLevel::kDebug, 5}};
  for (const auto& [level, lines] : expected) {
    std::filesystem::remove(path_);
    auto log = Open(/*all=*/true);
    log->SetWanted(level, /*all=*/true, /*access=*/true);
    for (Kind kind : kinds) log->Write({.kind = kind});
    log->Flush();
    EXPECT_EQ(Lines(path_).size(), lines) << NameOf(level);
  }
}

TEST_F(DecisionLogFile, ANoticeOfAHigherLevelPasses) {
  auto log = Open(/*all=*/false);
  log->SetWanted(LogLevel::kError, false, false);
  log->Note("left out");
  log->Note("the new configuration is bad", LogLevel::kError);
  log->Flush();
  const auto lines = Lines(path_);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["level"], "error");
}

TEST_F(DecisionLogFile, RequestsAreWrittenOnDemandAndAreNoDecisions) {
  auto log = DecisionLog::Open({.path = path_.string(), .keep_recent = 3});
  ASSERT_TRUE(log.ok());
  EXPECT_FALSE((*log)->Wants(Kind::kAccess));
  (*log)->Write({.kind = Kind::kAccess});
  (*log)->SetWanted(LogLevel::kInfo, false, true);
  EXPECT_TRUE((*log)->Wants(Kind::kAccess));
  (*log)->Write({.kind = Kind::kAccess});
  (*log)->Flush();
  EXPECT_EQ(Lines(path_).size(), 1u);
  EXPECT_TRUE((*log)->Recent().empty());
}

TEST_F(DecisionLogFile, IsTextWhereThatIsWanted) {
  auto log = DecisionLog::Open({.path = path_.string(), .format = LogFormat::kText});
  ASSERT_TRUE(log.ok());
  (*log)->Note("hello");
  (*log)->Flush();
  std::ifstream file(path_);
  std::string line;
  std::getline(file, line);
  EXPECT_THAT(line, ::testing::EndsWith("Z info    hello"));
}

TEST(DecisionLog, SaysWhichFileCannotBeOpened) {
  const auto log = DecisionLog::Open({.path = "/nonexistent/penstock/x.log"});
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(std::string(log.status().message()), ::testing::HasSubstr("/nonexistent/penstock/x.log"));
}

TEST_F(DecisionLogFile, KeepsTheNewestEntriesOfEveryKind) {
  auto log = DecisionLog::Open({.path = path_.string(), .all = false, .keep_recent = 3});
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_TRUE((*log)->TakesRecent(Kind::kForward, Instant()));
  EXPECT_TRUE((*log)->Recent().empty());
  for (int i = 1; i <= 5; ++i) {
    DecisionEntry entry;
    entry.kind = Kind::kForward;
    entry.request_id = "req-" + std::to_string(i);
    entry.model = std::string(100'000, 'x');
    (*log)->Write(entry);
  }
  const std::vector<RecentDecision> recent = (*log)->Recent();
  ASSERT_EQ(recent.size(), 3u);
  EXPECT_EQ(recent.front().number, 3u);
  EXPECT_EQ(recent.back().entry.request_id, "req-5");
  EXPECT_LE(recent.back().entry.model.size(), 512u);
  // The file has no forwards.
  (*log)->Flush();
  EXPECT_TRUE(Lines(path_).empty());
}

TEST_F(DecisionLogFile, UnderLoadTheNewestForwardsAndEndsAreASample) {
  auto log = DecisionLog::Open({.path = path_.string(), .all = false, .keep_recent = 3});
  ASSERT_TRUE(log.ok()) << log.status();
  const Instant now = Instant() + Duration::Seconds(5);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) taken += (*log)->TakesRecent(i % 2 == 0 ? Kind::kForward : Kind::kEnd, now) ? 1 : 0;
  EXPECT_EQ(taken, 25);
  EXPECT_TRUE((*log)->TakesRecent(Kind::kRefuse, now));
  EXPECT_TRUE((*log)->TakesRecent(Kind::kPark, now));
  EXPECT_TRUE((*log)->TakesRecent(Kind::kForward, now + Duration::Seconds(0.1)));
}

TEST_F(DecisionLogFile, KeepsNothingUnlessAsked) {
  const auto log = Open(true);
  log->Write(DecisionEntry());
  EXPECT_FALSE(log->TakesRecent(Kind::kRefuse, Instant()));
  EXPECT_TRUE(log->Recent().empty());
}

}  // namespace
}  // namespace penstock
