#include "router/telemetry/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "router/core/contract/refusal.h"
#include "tests/telemetry/sample_view.h"

namespace penstock {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Samples(const std::string& text) {
  std::vector<std::string> samples;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && line[0] != '#') samples.emplace_back(line);
  }
  return samples;
}

// The value of the sample that starts so and carries all these labels; NaN when there is none, or several.
double Value(const std::string& text, const std::string& name, const std::vector<std::string>& labels = {}) {
  double value = std::nan("");
  int found = 0;
  for (const std::string& line : Samples(text)) {
    const bool same_name = absl::StartsWith(line, name + "{") || absl::StartsWith(line, name + " ");
    const bool all = std::all_of(labels.begin(), labels.end(),
                                 [&](const std::string& label) { return absl::StrContains(line, label); });
    if (!same_name || !all) continue;
    value = std::stod(line.substr(line.rfind(' ') + 1));
    ++found;
  }
  return found == 1 ? value : std::nan("");
}

class TelemetryTest : public ::testing::Test {
 protected:
  TelemetryTest() { telemetry_.SetFleet(SampleFleet()); }
  std::string Text() const { return telemetry_.Serialise(SampleView()); }

  Telemetry telemetry_;
};

TEST_F(TelemetryTest, CountsARequestUnderItsModelClassEndpointAndOutcome) {
  telemetry_.OnRequest(SampleRecord());
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_requests_total",
                  {"model=\"llama-3.1-8b\"", "class=\"standard\"", "endpoint=\"chat\"", "outcome=\"ok\""}),
            1);
  EXPECT_EQ(Value(text, "penstock_responses_total", {"status=\"200\""}), 1);
  EXPECT_EQ(Value(text, "penstock_replica_requests_total", {"replica=\"chat-a\"", "outcome=\"ok\""}), 1);
}

TEST_F(TelemetryTest, CountsTokensByWhatTheyWereWorth) {
  RequestRecord record = SampleRecord();
  telemetry_.OnRequest(record);
  record.outcome = RequestOutcome::kClientGone;
  record.active_tokens = record.late_tokens = 0;
  record.abandoned_tokens = 7;
  telemetry_.OnRequest(record);
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_prompt_tokens_total"), 200);
  EXPECT_EQ(Value(text, "penstock_output_tokens_total"), 80);
  EXPECT_EQ(Value(text, "penstock_active_tokens_total"), 38);
  EXPECT_EQ(Value(text, "penstock_late_tokens_total"), 2);
  EXPECT_EQ(Value(text, "penstock_abandoned_tokens_total"), 7);
}

TEST_F(TelemetryTest, ObservesDurationsInSecondsAndOnlyWhenKnown) {
  telemetry_.OnRequest(SampleRecord());
  RequestRecord refused = SampleRecord();
  refused.queue_wait = refused.ttft = refused.tpot = refused.total = std::nullopt;
  telemetry_.OnRequest(refused);
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_time_to_first_token_seconds_count"), 1);
  EXPECT_DOUBLE_EQ(Value(text, "penstock_time_to_first_token_seconds_sum"), 0.12);
  EXPECT_DOUBLE_EQ(Value(text, "penstock_time_per_output_token_seconds_sum"), 0.012);
  EXPECT_DOUBLE_EQ(Value(text, "penstock_queue_wait_seconds_sum"), 0.003);
  EXPECT_DOUBLE_EQ(Value(text, "penstock_request_duration_seconds_sum"), 1);
}

TEST_F(TelemetryTest, CountsEveryRefusalUnderItsReason) {
  for (const RefusalTraits& traits : kRefusals) {
    RequestRecord record = SampleRecord();
    record.outcome = RequestOutcome::kRefused;
    record.reason = std::string(traits.label.data(), traits.label.size());
    record.status = traits.status;
    telemetry_.OnRequest(record);
  }
  const std::string text = Text();
  for (const RefusalTraits& traits : kRefusals) {
    EXPECT_EQ(Value(text, "penstock_refusals_total", {absl::StrCat("reason=\"", traits.label, "\"")}), 1);
  }
  EXPECT_EQ(Value(text, "penstock_requests_total", {"outcome=\"refused\""}), kRefusalCount);
}

TEST_F(TelemetryTest, ComparesEstimatedWithCountedPromptTokens) {
  telemetry_.OnRequest(SampleRecord());
  EXPECT_DOUBLE_EQ(Value(Text(), "penstock_prompt_estimate_ratio_sum"), 1.03);
}

TEST_F(TelemetryTest, FoldsNamesThatTheFleetDoesNotHaveIntoOther) {
  for (int i = 0; i < 500; ++i) {
    RequestRecord record = SampleRecord();
    record.model = absl::StrCat("attack-", i);
    record.endpoint = absl::StrCat("/v1/", i);
    record.replica = absl::StrCat("r", i);
    record.service_class = absl::StrCat("c", i);
    record.status = 1000 + i;
    record.tenant = absl::StrCat("t", i);
    telemetry_.OnRequest(record);
  }
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_requests_total",
                  {"model=\"other\"", "endpoint=\"other\"", "class=\"other\"", "outcome=\"ok\""}),
            500);
  EXPECT_EQ(Value(text, "penstock_responses_total", {"status=\"other\""}), 500);
  EXPECT_THAT(text, Not(HasSubstr("attack")));
  EXPECT_LT(Samples(text).size(), 370u);
}

TEST_F(TelemetryTest, TenantsAreLabelsOnlyWhenTheConfigurationNamesThem) {
  RequestRecord record = SampleRecord();
  record.tenant = "team-a";
  telemetry_.OnRequest(record);
  EXPECT_THAT(Text(), Not(HasSubstr("team-a")));
  telemetry_.SetTenants({"team-a"});
  telemetry_.OnRequest(record);
  record.tenant = "sk-secret";
  telemetry_.OnRequest(record);
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_tenant_tokens_total", {"tenant=\"team-a\"", "kind=\"active\""}), 38);
  EXPECT_EQ(Value(text, "penstock_tenant_requests_total", {"tenant=\"other\"", "outcome=\"ok\""}), 1);
  EXPECT_THAT(text, Not(HasSubstr("sk-secret")));
}

TEST_F(TelemetryTest, LabelValuesAreBoundedOverReloads) {
  Fleet fleet = SampleFleet();
  for (int i = 0; i < 3000; ++i) fleet.models.push_back({absl::StrCat("m", i)});
  telemetry_.SetFleet(fleet);
  RequestRecord record = SampleRecord();
  record.model = "m2999";
  telemetry_.OnRequest(record);
  EXPECT_EQ(Value(Text(), "penstock_requests_total", {"model=\"other\"", "outcome=\"ok\""}), 1);
}

TEST_F(TelemetryTest, PromisedIsInBytesWhereTheShapeIsKnownAndInBlocksElsewhere) {
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_pool_promised_bytes", {"pool=\"gpu0/chat\""}), 640);
  EXPECT_EQ(Value(text, "penstock_pool_promised_blocks", {"pool=\"llama\""}), 3);  // 33 tokens in blocks of 16.
  EXPECT_EQ(Value(text, "penstock_pool_capacity_bytes", {"pool=\"gpu0/chat\""}), 1000);
  EXPECT_EQ(Value(text, "penstock_pool_capacity_tokens", {"pool=\"llama\""}), 8192);
}

TEST_F(TelemetryTest, PromisedIsZeroWhenNothingRuns) {
  CoreView view = SampleView();
  for (PoolView& pool : view.pools) pool.promised = Amount(0);
  const std::string text = telemetry_.Serialise(view);
  EXPECT_EQ(Value(text, "penstock_pool_promised_bytes", {"pool=\"gpu0/chat\""}), 0);
  EXPECT_EQ(Value(text, "penstock_pool_promised_blocks", {"pool=\"llama\""}), 0);
}

TEST_F(TelemetryTest, NoOtherMetricCarriesTheWordPromised) {
  const std::string text = SampleExposition();
  for (const std::string& line : Samples(text)) {
    const std::string name = line.substr(0, line.find_first_of("{ "));
    if (name == "penstock_pool_promised_bytes" || name == "penstock_pool_promised_blocks") continue;
    EXPECT_THAT(line, Not(HasSubstr("promised")));
  }
}

TEST_F(TelemetryTest, SaysWhenAnEngineReportIsStaleOrMissing) {
  CoreView view = SampleView();
  view.pools[0].report_age = Duration::Seconds(2.5);
  const std::string text = telemetry_.Serialise(view);
  EXPECT_EQ(Value(text, "penstock_pool_report_stale", {"pool=\"gpu0/chat\""}), 1);
  EXPECT_DOUBLE_EQ(Value(text, "penstock_pool_report_age_seconds", {"pool=\"gpu0/chat\""}), 2.5);
  EXPECT_EQ(Value(text, "penstock_pool_report_stale", {"pool=\"llama\""}), 1);
  EXPECT_TRUE(std::isnan(Value(text, "penstock_pool_report_age_seconds", {"pool=\"llama\""})));
  EXPECT_EQ(Value(Text(), "penstock_pool_report_stale", {"pool=\"gpu0/chat\""}), 0);
}

TEST_F(TelemetryTest, ShowsHowFarCachedPromptsCameAsExpected) {
  CoreView view = SampleView();
  view.counters.cached_expected = 500;
  view.counters.cached_found = 400;
  view.counters.host_found = 30;
  const std::string text = telemetry_.Serialise(view);
  EXPECT_EQ(Value(text, "penstock_prefix_expected_tokens_total", {}), 500);
  EXPECT_EQ(Value(text, "penstock_prefix_found_tokens_total", {}), 400);
  EXPECT_EQ(Value(text, "penstock_host_cache_found_tokens_total", {}), 30);
}

TEST_F(TelemetryTest, CountsSleepsAndWakesByResult) {
  EXPECT_EQ(Value(Text(), "penstock_wakes_total", {"replica=\"code-a\"", "result=\"timeout\""}), 0) << "from the start";
  telemetry_.engines().OnSleepEnd("code-a", SleepResult::kBusy);
  telemetry_.engines().OnWakeEnd("code-a", SleepResult::kTimeout, Duration::Seconds(300));
  telemetry_.engines().OnWakeEnd("code-a", SleepResult::kOk, Duration::Seconds(2));
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_sleeps_total", {"replica=\"code-a\"", "result=\"busy\""}), 1);
  EXPECT_EQ(Value(text, "penstock_wakes_total", {"replica=\"code-a\"", "result=\"timeout\""}), 1);
  EXPECT_EQ(Value(text, "penstock_wake_seconds_sum", {"replica=\"code-a\""}), 2) << "failed wakes have no time";
}

TEST_F(TelemetryTest, ShowsReplicasLanesAndRisk) {
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_replica_up", {"replica=\"chat-a\""}), 1);
  EXPECT_EQ(Value(text, "penstock_replica_up", {"replica=\"code-a\""}), 0);
  EXPECT_EQ(Value(text, "penstock_replica_running_requests", {"replica=\"chat-a\""}), 3);
  EXPECT_EQ(Value(text, "penstock_replica_preemptions_total", {"replica=\"chat-a\""}), 2);
  EXPECT_EQ(Value(text, "penstock_queue_requests", {"class=\"standard\""}), 4);
  EXPECT_EQ(Value(text, "penstock_queue_oldest_wait_seconds"), 1.5);
  EXPECT_EQ(Value(text, "penstock_pool_risk_z", {"pool=\"gpu0/chat\""}), 1.25);
}

TEST_F(TelemetryTest, CountsBadInputAndEngineErrorsByKind) {
  telemetry_.OnBadInput(BadInput::kContentType);
  telemetry_.engines().OnError("chat-a", EngineErrorKind::kOverflow);
  telemetry_.engines().OnError("unheard-of", EngineErrorKind::kConnect);
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_bad_input_total", {"kind=\"content_type\""}), 1);
  EXPECT_EQ(Value(text, "penstock_bad_input_total", {"kind=\"truncated\""}), 0);
  EXPECT_EQ(Value(text, "penstock_engine_errors_total", {"replica=\"chat-a\"", "kind=\"overflow\""}), 1);
  EXPECT_EQ(Value(text, "penstock_engine_errors_total", {"replica=\"other\"", "kind=\"connect\""}), 1);
}

TEST_F(TelemetryTest, MeasuresDecisionsInMicroseconds) {
  telemetry_.OnDecision(Duration::Microseconds(4));
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_decision_seconds_count"), 1);
  EXPECT_EQ(Value(text, "penstock_decision_seconds_bucket", {"le=\"3e-06\""}), 0);
  EXPECT_EQ(Value(text, "penstock_decision_seconds_bucket", {"le=\"5e-06\""}), 1);
}

TEST_F(TelemetryTest, CountsFromManyThreadsWithoutLoss) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 500; ++i) {
        RequestRecord record = SampleRecord();
        record.model = i % 2 == 0 ? "llama-3.1-8b" : "qwen2.5-7b";
        telemetry_.OnRequest(record);
        telemetry_.OnConnection(true);
        telemetry_.AddBufferedBytes(10);
        if (i % 100 == t) telemetry_.SetFleet(SampleFleet());
        if (i % 100 == 0) Text();
        telemetry_.OnConnection(false);
        telemetry_.AddBufferedBytes(-10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = Text();
  EXPECT_EQ(Value(text, "penstock_requests_total", {"model=\"qwen2.5-7b\"", "outcome=\"ok\""}), 1000);
  EXPECT_EQ(Value(text, "penstock_connections_open"), 0);
  EXPECT_EQ(Value(text, "penstock_connections_total"), 2000);
  EXPECT_EQ(Value(text, "penstock_buffered_bytes"), 0);
}

TEST(TelemetryText, EveryNameStartsWithPenstockOrProcessAndHasHelp) {
  const std::string text = SampleExposition();
  std::set<std::string> helped;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (absl::StartsWith(line, "# HELP ")) helped.insert(words.at(2));
    if (absl::StartsWith(line, "# TYPE ")) {
      EXPECT_TRUE(helped.contains(words.at(2))) << words.at(2);
    }
  }
  const auto known = ::testing::AnyOf(::testing::StartsWith("penstock_"), ::testing::StartsWith("process_"));
  for (const std::string& line : Samples(text)) EXPECT_THAT(line, known);
}

TEST(TelemetryText, PromtoolFindsNothingToComplainAbout) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) GTEST_SKIP() << "promtool is not installed";
  const auto path = std::filesystem::path(::testing::TempDir()) / "penstock-metrics.txt";
  std::ofstream(path) << SampleExposition();
  FILE* tool = popen(("promtool check metrics < " + path.string() + " 2>&1").c_str(), "r");
  ASSERT_NE(tool, nullptr);
  std::string said;
  for (int c = std::fgetc(tool); c != EOF; c = std::fgetc(tool)) said.push_back(static_cast<char>(c));
  EXPECT_EQ(pclose(tool), 0) << said;
  EXPECT_EQ(said, "");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace penstock
