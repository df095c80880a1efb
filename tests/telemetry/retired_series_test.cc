// The series of names that left the fleet leave the page of metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/telemetry/engine_metrics.h"
#include "router/telemetry/telemetry.h"
#include "tests/telemetry/sample_view.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The fleet after so many reloads: one model and replica that stay, the others are of this generation.
Fleet Generation(int generation) {
  Fleet fleet = SampleFleet();
  fleet.models.push_back({absl::StrCat("model-", generation)});
  fleet.classes.push_back({.name = absl::StrCat("class-", generation)});
  ReplicaSpec replica{.name = absl::StrCat("replica-", generation), .models = {ModelId(2)}};
  replica.sleep = SleepSpec{Duration::Seconds(60), Duration::Seconds(2)};
  replica.role = EngineRole::kPrefill;
  fleet.replicas.push_back(replica);
  return fleet;
}

RequestRecord OfGeneration(int generation) {
  RequestRecord record = SampleRecord();
  record.model = absl::StrCat("model-", generation);
  record.service_class = absl::StrCat("class-", generation);
  record.replica = absl::StrCat("replica-", generation);
  record.tenant = absl::StrCat("tenant-", generation);
  return record;
}

void CountAll(Telemetry& telemetry, int generation) {
  const std::string replica = absl::StrCat("replica-", generation);
  telemetry.OnRequest(OfGeneration(generation));
  telemetry.engines().OnPoll(replica, true);
  telemetry.engines().OnWakeEnd(replica, SleepResult::kOk, Duration::Seconds(1));
  telemetry.engines().OnHandover(replica, HandoverEnd::kHandedOver, Duration::Seconds(1));
  telemetry.engines().kv_events().Add(replica, {}, {});
  telemetry.engines().kv_events().Leave(replica);
}

std::string TextOf(const Telemetry& telemetry) { return telemetry.Serialise(CoreView()); }

TEST(RetiredSeries, ThePageIsAsLongAfterManyReloadsAsAfterTheFirst) {
  Telemetry telemetry;
  size_t first = 0;
  for (int generation = 100; generation < 200; ++generation) {
    telemetry.SetFleet(Generation(generation));
    telemetry.SetTenants({absl::StrCat("tenant-", generation)});
    CountAll(telemetry, generation);
    if (generation == 101) first = TextOf(telemetry).size();
  }
  const std::string text = TextOf(telemetry);
  for (const char* kind : {"model", "class", "replica", "tenant"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\"", kind, "-199\""))) << kind;
    EXPECT_THAT(text, Not(HasSubstr(absl::StrCat("\"", kind, "-198\"")))) << kind;
  }
  EXPECT_NEAR(static_cast<double>(text.size()), static_cast<double>(first), 200);
}

TEST(RetiredSeries, ANameThatComesBackBeginsAtZero) {
  Telemetry telemetry;
  telemetry.SetFleet(Generation(1));
  telemetry.OnRequest(OfGeneration(1));
  telemetry.OnRequest(OfGeneration(1));
  EXPECT_THAT(TextOf(telemetry),
              HasSubstr("penstock_replica_requests_total{outcome=\"ok\",replica=\"replica-1\"} 2\n"));
  telemetry.SetFleet(Generation(2));
  telemetry.SetFleet(Generation(1));
  EXPECT_THAT(TextOf(telemetry), Not(HasSubstr("penstock_replica_requests_total")));
  telemetry.OnRequest(OfGeneration(1));
  EXPECT_THAT(TextOf(telemetry),
              HasSubstr("penstock_replica_requests_total{outcome=\"ok\",replica=\"replica-1\"} 1\n"));
}

TEST(RetiredSeries, WhatStaysGoesOnCountingAndLateOnesAreOther) {
  Telemetry telemetry;
  telemetry.SetFleet(Generation(1));
  telemetry.OnRequest(SampleRecord());
  telemetry.SetFleet(Generation(2));
  telemetry.OnRequest(SampleRecord());
  telemetry.OnRequest(OfGeneration(1));
  const std::string text = TextOf(telemetry);
  EXPECT_THAT(text, HasSubstr("penstock_replica_requests_total{outcome=\"ok\",replica=\"chat-a\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("penstock_replica_requests_total{outcome=\"ok\",replica=\"other\"} 1\n"));
}

TEST(RetiredSeries, ANameTakesTheLabelThatAnotherGaveBack) {
  Telemetry telemetry({.max_names = 3});
  for (int generation = 0; generation < 20; ++generation) {
    telemetry.SetFleet(Generation(generation));
    telemetry.OnRequest(OfGeneration(generation));
    EXPECT_THAT(TextOf(telemetry), HasSubstr(absl::StrCat("\"model-", generation, "\"")));
  }
}

TEST(RetiredSeries, AModelThatIsCalledOtherTakesNoSeriesFromTheOthers) {
  Telemetry telemetry;
  Fleet fleet = SampleFleet();
  fleet.models.push_back({"other"});
  telemetry.SetFleet(fleet);
  RequestRecord record = SampleRecord();
  record.model = "other";
  telemetry.OnRequest(record);
  telemetry.SetFleet(SampleFleet());
  telemetry.OnRequest(record);
  EXPECT_THAT(TextOf(telemetry), HasSubstr("penstock_output_tokens_total{class=\"standard\",model=\"other\"} 80\n"));
}

TEST(RetiredSeries, ExportersThatNobodyReadsHaveNoSeries) {
  Telemetry telemetry;
  telemetry.engines().OnNodeScrape("n1", "dcgm", NodeScrape::kOk, false);
  telemetry.engines().OnNodeScrape("n1", "node", NodeScrape::kOk, false);
  telemetry.engines().OnNodeLeft("n1", "dcgm");
  const std::string text = TextOf(telemetry);
  EXPECT_THAT(text, Not(HasSubstr("dcgm")));
  EXPECT_THAT(text, HasSubstr("penstock_node_stale{exporter=\"node\",node=\"n1\"} 0\n"));
}

TEST(RetiredSeries, LoopsCountWhileNamesComeAndGo) {
  Telemetry telemetry;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&telemetry, &stop] {
      for (int i = 0; !stop; ++i) CountAll(telemetry, i % 4);
    });
  }
  for (int generation = 0; generation < 60; ++generation) {
    telemetry.SetFleet(Generation(generation % 4));
    telemetry.SetTenants({absl::StrCat("tenant-", generation % 4)});
    TextOf(telemetry);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  telemetry.SetFleet(Generation(5));
  EXPECT_THAT(TextOf(telemetry), Not(HasSubstr("replica-3")));
}

}  // namespace
}  // namespace penstock
