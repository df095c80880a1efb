#include "router/telemetry/log/log_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "router/telemetry/log/text_limits.h"

namespace penstock {
namespace {

using nlohmann::json;
using Kind = DecisionEntry::Kind;

TEST(LogTime, IsRfc3339InUtc) {
  EXPECT_EQ(FormatTime(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(FormatTime(1795433221.0625), "2026-11-23T11:27:01.062500Z");
}

TEST(LogLine, HasTimesToTheMicrosecond) {
  DecisionEntry entry;
  entry.retry_after = Duration::Seconds(15.000000000000002);
  entry.ttft = Duration::Seconds(0.1234564);
  const std::string line = FormatDecision(entry, 1);
  EXPECT_NE(line.find("\"retry_after_s\":15.0"), std::string::npos) << line;
  EXPECT_EQ(line.find("15.00"), std::string::npos) << line;
  EXPECT_NE(line.find("\"ttft_s\":0.123456,"), std::string::npos) << line;
}

TEST(LogLine, HasTheLinesThatWereLeftOutBeforeIt) {
  DecisionEntry entry;
  EXPECT_FALSE(json::parse(FormatDecision(entry, 1)).contains("suppressed"));
  entry.suppressed = 12;
  EXPECT_EQ(json::parse(FormatDecision(entry, 1))["suppressed"], 12);
}

TEST(LogLine, OfARequestHasItsPlaceSizesAndTimes) {
  DecisionEntry entry;
  entry.kind = Kind::kAccess;
  entry.request_id = "req-1";
  entry.trace_id = "abc";
  entry.method = "POST";
  entry.path = "/v1/chat/completions";
  entry.status = 200;
  entry.received = Bytes(100);
  entry.sent = Bytes(2000);
  entry.ttft = Duration::Milliseconds(250);
  entry.total = Duration::Seconds(2);
  const json line = json::parse(FormatDecision(entry, 1));
  EXPECT_EQ(line, (json{{"time", "1970-01-01T00:00:01.000000Z"},
                        {"level", "info"},
                        {"event", "access"},
                        {"request", "req-1"},
                        {"trace", "abc"},
                        {"method", "POST"},
                        {"path", "/v1/chat/completions"},
                        {"status", 200},
                        {"bytes_received", 100},
                        {"bytes_sent", 2000},
                        {"ttft_s", 0.25},
                        {"total_s", 2.0}}));
}

TEST(LogLine, BeginsWithTimeLevelAndEvent) {
  DecisionEntry entry;
  entry.message = "hello";
  EXPECT_EQ(FormatDecision(entry, 0),
            R"({"time":"1970-01-01T00:00:00.000000Z","level":"info","event":"notice","message":"hello"})");
}

TEST(LogLine, HasTheLevelOfItsKindOrItsOwn) {
  EXPECT_EQ(LevelOf({.kind = Kind::kError}), LogLevel::kError);
  EXPECT_EQ(LevelOf({.kind = Kind::kRefuse}), LogLevel::kWarning);
  EXPECT_EQ(LevelOf({.kind = Kind::kForward}), LogLevel::kInfo);
  EXPECT_EQ(LevelOf({.kind = Kind::kNotice, .level = LogLevel::kError}), LogLevel::kError);
}

// Every character that a terminal or a reader of lines could obey.
std::string Hostile() {
  return "a\r\nb\x1b[2J\x7f\xc2\x9b"
         "31m\xc2\x85"
         "c\t\xff";
}

TEST(LogLine, ShowsNoControlCharacterInEitherForm) {
  DecisionEntry entry;
  entry.path = Hostile();
  entry.message = Hostile();
  for (const std::string& text : {FormatDecision(entry, 0), FormatText(entry, 0)}) {
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      EXPECT_GE(byte, ' ') << text;
      EXPECT_NE(byte, 0x7f) << text;
      const bool control = byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
      EXPECT_FALSE(control) << text;
    }
  }
  // The value survives but for the byte that is no UTF-8.
  EXPECT_EQ(json::parse(FormatDecision(entry, 0))["path"],
            "a\r\nb\x1b[2J\x7f\xc2\x9b"
            "31m\xc2\x85"
            "c\t\xef\xbf\xbd");
}

TEST(LogLine, KeepsOtherLanguagesReadable) {
  DecisionEntry entry;
  entry.model = "模型-ä";
  EXPECT_NE(FormatDecision(entry, 0).find("模型-ä"), std::string::npos);
}

TEST(LogText, IsOneReadableLine) {
  DecisionEntry entry;
  entry.kind = Kind::kRefuse;
  entry.model = "two words";
  entry.reason = "queue_full";
  entry.status = 429;
  EXPECT_EQ(FormatText(entry, 0),
            "1970-01-01T00:00:00.000000Z warning refuse model=\"two words\" reason=queue_full status=429");
  DecisionEntry notice;
  notice.message = "replica is up";
  notice.replica = "chat-a";
  EXPECT_EQ(FormatText(notice, 0), "1970-01-01T00:00:00.000000Z info    replica is up replica=chat-a");
}

TEST(LogText, NoCharacterOfAClientSteersATerminal) {
  DecisionEntry entry;
  entry.kind = Kind::kRefuse;
  entry.model = "a\u202eb\u2028c\ufeff";
  entry.message = "x\u2066y\u200f\u0085\x7f\x1b";
  for (const std::string& line : {FormatText(entry, 0), FormatDecision(entry, 0)}) {
    EXPECT_NE(line.find(R"("a\u202eb\u2028c\ufeff")"), std::string::npos) << line;
    EXPECT_NE(line.find(R"("x\u2066y\u200f\u0085\u007f\u001b")"), std::string::npos) << line;
  }
  EXPECT_EQ(json::parse(FormatDecision(entry, 0))["model"], entry.model);
}

TEST(LogText, AFieldCannotPassForAnother) {
  DecisionEntry entry;
  entry.kind = Kind::kRefuse;
  entry.model = "m status=200";
  entry.tenant = "a=b";
  const std::string text = FormatText(entry, 0);
  EXPECT_NE(text.find("model=\"m status=200\""), std::string::npos) << text;
  EXPECT_NE(text.find("tenant=\"a=b\""), std::string::npos) << text;
}

TEST(LogText, OnlyANoticeHasAMessageWithoutQuotes) {
  DecisionEntry entry;
  entry.kind = Kind::kError;
  entry.message = "no model 'm status=200'";
  EXPECT_EQ(FormatText(entry, 0), "1970-01-01T00:00:00.000000Z error   error \"no model 'm status=200'\"");
}

TEST(LogTexts, AreCutAndTheirMemoryIsGivenBack) {
  DecisionEntry entry;
  entry.kind = Kind::kRefuse;
  entry.method = entry.path = entry.model = entry.request_id = entry.reason = std::string(1 << 16, 'x');
  entry.message = std::string(1 << 16, 'x');
  entry.replica = "chat-a";
  DecisionEntry notice;
  notice.message = std::string(1 << 16, 'x');
  CutTexts(entry);
  CutTexts(notice);
  for (const std::string* text :
       {&entry.method, &entry.path, &entry.model, &entry.request_id, &entry.reason, &entry.message}) {
    EXPECT_EQ(text->size(), kLongestLogText);
    EXPECT_LT(text->capacity(), 2 * kLongestLogText);
  }
  EXPECT_EQ(entry.replica, "chat-a");
  EXPECT_EQ(notice.message.size(), kLongestNotice);
}

TEST(LogLine, ANoticeMayBeLongerThanOtherTexts) {
  DecisionEntry entry;
  entry.message = std::string(10'000, 'x');
  EXPECT_EQ(json::parse(FormatDecision(entry, 0))["message"].get<std::string>().size(), 4096u);
}

}  // namespace
}  // namespace penstock
