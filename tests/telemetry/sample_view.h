// A fleet, a view of it and some traffic in which every metric has a value.
#ifndef PENSTOCK_TESTS_TELEMETRY_SAMPLE_VIEW_H_
#define PENSTOCK_TESTS_TELEMETRY_SAMPLE_VIEW_H_

#include <string>

#include "base/turn_meter.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/fleet.h"
#include "router/telemetry/batch_metrics.h"
#include "router/telemetry/edge_metrics.h"
#include "router/telemetry/engine_metrics.h"
#include "router/telemetry/shadow_metrics.h"
#include "router/telemetry/telemetry.h"

namespace penstock {

inline Fleet SampleFleet() {
  Fleet fleet;
  fleet.pools = {{.name = "gpu0/chat", .capacity = Amount(1000), .in_bytes = true},
                 {.name = "llama", .capacity = Amount(8192), .in_bytes = false}};
  fleet.models = {{"llama-3.1-8b"}, {"qwen2.5-7b"}};
  fleet.classes = {{.name = "interactive"}, {.name = "standard"}};
  ReplicaSpec chat{.name = "chat-a", .models = {ModelId(0)}};
  chat.pools = {{PoolId(0), Footprint{}}};
  ReplicaSpec code{.name = "code-a", .models = {ModelId(1)}};
  code.pools = {{PoolId(1), Footprint::InTokens(Tokens(16))}};
  code.sleep = SleepSpec{Duration::Seconds(60), Duration::Seconds(2)};
  fleet.replicas = {chat, code};
  return fleet;
}

inline CoreView SampleView() {
  CoreView view;
  PoolView chat{.name = "gpu0/chat", .capacity = Amount(1000), .promised = Amount(640), .held = Amount(320)};
  chat.z = 1.25;
  chat.report_age = Duration::Milliseconds(200);
  chat.forecast_errors[1].compared = 1;
  PoolView tokens{.name = "llama", .in_bytes = false, .capacity = Amount(8192), .promised = Amount(33)};
  tokens.report_age = Duration::Infinite();
  view.pools = {chat, tokens};
  view.replicas = {{.name = "chat-a", .model = "llama-3.1-8b", .health = Health::kUp, .running = 3, .preemptions = 2},
                   {.name = "code-a",
                    .model = "qwen2.5-7b",
                    .residency = Residency::kAsleep,
                    .sleeps = true,
                    .elastic = {.known = true, .limit = Bytes(8), .used = Bytes(3), .orders = 2}}};
  view.replicas[0].grey = {.derate = 4, .cause = GreyCause::kGpu, .events = {0, 0, 1, 0, 0}};
  view.lanes = {
      {.model = "llama-3.1-8b", .service_class = "standard", .waiting = 4, .oldest_wait = Duration::Seconds(1.5)}};
  view.nodes = {{.name = "n1", .left = {.memory = 0.5, .storage = 0.25}, .storage_requests = 1}};
  view.hosts = {{.name = "n1", .used = Bytes(28), .sleep_memory = Bytes(64), .lacking = 1}};
  view.queued_requests = 4;
  view.queued_bytes = Bytes(4096);
  return view;
}

inline RequestRecord SampleRecord() {
  RequestRecord record;
  record.endpoint = "chat";
  record.model = "llama-3.1-8b";
  record.service_class = "standard";
  record.replica = "chat-a";
  record.prompt_estimate = Tokens(103);
  record.prompt = Tokens(100);
  record.output = Tokens(40);
  record.active_tokens = 38;
  record.late_tokens = 2;
  record.queue_wait = Duration::Milliseconds(3);
  record.ttft = Duration::Milliseconds(120);
  record.tpot = Duration::Milliseconds(12);
  record.total = Duration::Seconds(1);
  record.status = 200;
  return record;
}

// Text in which every family has a sample.
inline std::string SampleExposition() {
  Telemetry telemetry({.tenants = {"team-a"}, .version = "1.2.3"});
  telemetry.SetFleet(SampleFleet());
  telemetry.OnRequest(SampleRecord());
  telemetry.OnDecision(Duration::Microseconds(4));
  telemetry.OnBadInput(BadInput::kMalformedJson);
  telemetry.engines().OnError("chat-a", EngineErrorKind::kGarbage);
  telemetry.engines().OnPoll("chat-a", true);
  telemetry.engines().OnReread("chat-a", Reread::kChanged);
  telemetry.engines().OnFalseSleep("code-a");
  telemetry.engines().OnSegment("code-a", false, SegmentResult::kOk);
  telemetry.engines().OnSegment("code-a", true, SegmentResult::kHeld);
  telemetry.engines().kv_events().Add("chat-a", {}, {});
  telemetry.engines().kv_events().OnMissedRequests(1);
  telemetry.engines().OnNodeScrape("node1", "node_exporter", NodeScrape::kOk, false);
  telemetry.engines().OnSleepEnd("code-a", SleepResult::kOk);
  telemetry.engines().OnAdapterLoad("code-a", SleepResult::kOk, Duration::Seconds(1));
  telemetry.engines().OnWakeEnd("code-a", SleepResult::kOk, Duration::Seconds(2));
  telemetry.engines().OnHandover("code-a", HandoverEnd::kHandedOver, Duration::Seconds(2));
  telemetry.batches().StartAtZero();
  telemetry.batches().SetOpen("in_progress", 1);
  telemetry.batches().SetLines(3, 5);
  telemetry.batches().OnBatchEnd("completed");
  telemetry.batches().OnLines(LineOutcome::kFailed, 2);
  telemetry.batches().OnRetry();
  telemetry.batches().OnTokens(Tokens(100), Tokens(40));
  telemetry.OnConfigReload(true, {{"clients", 4e9}, {"admin", 5e9}});
  telemetry.store().OnFault(jobs::JobErrorKind::kDiskFull);
  telemetry.store().SetUse({.files = 2, .bytes = Bytes(300), .open_batches = 1});
  RequestRecord of_tenant = SampleRecord();
  of_tenant.tenant = "team-a";
  telemetry.OnRequest(of_tenant);
  CoreView view = SampleView();
  view.pools[1].report_age = Duration::Milliseconds(300);
  view.tenants = {{"team-a", Tokens(100)}};
  view.shares = {{"team-a", 2, 5000, 300}};
  GpuReport gpus;
  gpus.gpus.push_back({"gpu0", {}, 2.5});
  gpus.gpus[0].time.cost = 1;
  gpus.gpus[0].outside_pools = Bytes(5);
  gpus.pools = {{"pool-a", true, true, 7, 70, 10}, {"pool-b", false, false, 0, 9, 3}};
  ShadowReport shadow;
  shadow.forecasts = true;
  const TurnMeter turns;
  return telemetry.Serialise(view, /*log_lines_dropped=*/1, gpus) + ShadowMetricsText(shadow) +
         LoopMetricsText({&turns}, Instant());
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_TELEMETRY_SAMPLE_VIEW_H_
