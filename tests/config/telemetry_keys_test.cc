// The configuration of the log and of traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(LogKeys, SayLittleByDefault) {
  const LogConfig log = Parsed(WithReplica("")).log;
  EXPECT_EQ(log.level, LogLevel::kInfo);
  EXPECT_EQ(log.format, LogFormat::kAuto);
  EXPECT_FALSE(log.access);
}

TEST(LogKeys, AreReadAndPrinted) {
  const Config config = Parsed(WithReplica("log: {level: debug, format: text, access: true}\n"));
  const Config again = Parsed(PrintConfig(config));
  for (const Config* each : {&config, &again}) {
    EXPECT_EQ(each->log.level, LogLevel::kDebug);
    EXPECT_EQ(each->log.format, LogFormat::kText);
    EXPECT_TRUE(each->log.access);
  }
}

TEST(LogKeys, NameTheWordsThatAreKnown) {
  EXPECT_THAT(FindingsOf(WithReplica("log: {level: verbose}\n")), HasSubstr("known: error warning info debug"));
  EXPECT_THAT(FindingsOf(WithReplica("log: {format: xml}\n")), HasSubstr("known: auto json text"));
}

TEST(LogKeys, FormatAndPathNeedARestart) {
  const Config before = Parsed(WithReplica(""));
  EXPECT_THAT(KeysThatNeedRestart(before, Parsed(WithReplica("log: {level: error, access: true}\n"))), IsEmpty());
  EXPECT_THAT(KeysThatNeedRestart(before, Parsed(WithReplica("log: {format: json}\n"))),
              ::testing::ElementsAre("log.format"));
}

TEST(TracingKeys, AreOffByDefaultAndNotPrinted) {
  const Config config = Parsed(WithReplica(""));
  EXPECT_EQ(config.tracing.endpoint, "");
  EXPECT_THAT(PrintConfig(config), Not(HasSubstr("tracing")));
}

TEST(TracingKeys, AreReadAndPrintedWithoutTheirSecrets) {
  setenv("TELEMETRY_KEYS_TOKEN", "s3cret", 1);
  const Config config =
      Parsed(WithReplica("tracing: {endpoint: http://c:4318, sample: 0.5, service_name: gate, interval: 1s, "
                         "headers: {authorization: 'Bearer ${TELEMETRY_KEYS_TOKEN}'}}\n"));
  EXPECT_EQ(config.tracing.endpoint, "http://c:4318");
  EXPECT_EQ(config.tracing.sample, 0.5);
  EXPECT_EQ(config.tracing.headers.at("authorization"), "Bearer s3cret");
  const std::string printed = PrintConfig(config);
  EXPECT_THAT(printed, Not(HasSubstr("s3cret")));
  EXPECT_EQ(Parsed(printed).tracing.interval, Duration::Seconds(1));
}

TEST(TracingKeys, NeedAnEndpointAndBounds) {
  EXPECT_THAT(FindingsOf(WithReplica("tracing: {sample: 1}\n")), HasSubstr("tracing.endpoint"));
  EXPECT_THAT(FindingsOf(WithReplica("tracing: {endpoint: http://c, sample: 2}\n")), HasSubstr("outside 0 to 1"));
  EXPECT_THAT(FindingsOf(WithReplica("tracing: {endpoint: 'c:4318'}\n")), HasSubstr("tracing.endpoint"));
  EXPECT_THAT(FindingsOf(WithReplica("tracing: {endpoint: http://c, headers: {'a b': x}}\n")),
              HasSubstr("must be the name of a header"));
  EXPECT_THAT(FindingsOf(WithReplica("tracing: {endpoint: http://c, headers: {a: '${NO_SUCH_VARIABLE}'}}\n")),
              HasSubstr("NO_SUCH_VARIABLE"));
}

TEST(TracingKeys, NeedARestart) {
  const Config before = Parsed(WithReplica("tracing: {endpoint: http://c:1}\n"));
  EXPECT_THAT(KeysThatNeedRestart(before, Parsed(WithReplica("tracing: {endpoint: http://c:2}\n"))),
              ::testing::ElementsAre("tracing.endpoint"));
}

}  // namespace
}  // namespace penstock
