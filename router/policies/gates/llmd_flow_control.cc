#include "router/policies/gates/llmd_flow_control.h"

#include <algorithm>

#include "router/policies/kit/draw.h"
#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

constexpr double kQueueWeight = 2;
constexpr double kKvWeight = 2;
constexpr double kPrefixWeight = 3;

}  // namespace

Duration LlmdFlowControl::QueueTime(const ClassSpec& service_class) const {
  return options_.ttl > Duration() ? options_.ttl : service_class.queue;
}

double LlmdFlowControl::WaitingAt(ReplicaId id) const {
  const std::optional<EngineReport>& report = replica(id).report;
  return report ? std::max(0, report->waiting) : 0;
}

double LlmdFlowControl::KvAt(ReplicaId id) const {
  const std::optional<EngineReport>& report = replica(id).report;
  return report ? std::max(0.0, report->kv_used_share) : 0;
}

double LlmdFlowControl::Fullness(ReplicaId id) const {
  if (options_.by_concurrency) return static_cast<double>(replica(id).running) / options_.in_flight;
  return std::max(WaitingAt(id) / options_.queue, KvAt(id) / options_.kv);
}

RivalRule::Choice LlmdFlowControl::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  double saturation = 0;
  std::vector<ReplicaId> open;
  for (ReplicaId id : candidates) {
    const double fullness = Fullness(id);
    saturation += fullness / static_cast<double>(candidates.size());
    if (fullness < 1 + options_.headroom) open.push_back(id);
  }
  if (saturation >= 1) return options_.by_concurrency ? WaitReason::kSequences : WaitReason::kMemory;
  return BestOf(request, open.empty() ? candidates : open);
}

ReplicaId LlmdFlowControl::BestOf(const RequestArrived& request, const std::vector<ReplicaId>& replicas) {
  const auto [least, most] = std::minmax_element(
      replicas.begin(), replicas.end(), [this](ReplicaId a, ReplicaId b) { return WaitingAt(a) < WaitingAt(b); });
  const double low = WaitingAt(*least);
  const double high = WaitingAt(*most);
  std::vector<ReplicaId> best;
  double best_score = -1;
  for (ReplicaId id : replicas) {
    const double queue = high > low ? (high - WaitingAt(id)) / (high - low) : 1;
    const double prefix = index_.Matched(id, request, now()).AsDouble() / std::max(1.0, request.prompt.AsDouble());
    const double score = kQueueWeight * queue + kKvWeight * (1 - KvAt(id)) + kPrefixWeight * prefix;
    if (score < best_score) continue;
    if (score > best_score) best.clear();
    best_score = score;
    best.push_back(id);
  }
  return best[DrawBelow(best.size(), random_)];
}

namespace {

constexpr const char* kNotes =
    "A replica that has never reported counts as idle, and a report of any age as fresh. The policy remembers the "
    "prompts that it sent. It reads no cache events of engines.";

// The default of --refresh-metrics-interval.
constexpr Duration kPoll = Duration::Milliseconds(50);

PolicySetting Headroom(const char* meaning) {
  return NumberSetting("headroom", LlmdFlowControl::Options{}.headroom, 0, 1, meaning);
}

PolicySetting Ttl() {
  return NumberSetting("ttl", LlmdFlowControl::Options{}.ttl.seconds(), 0, 86400,
                       "seconds a request may wait; 0: its class's queue time");
}

}  // namespace

PolicyDeclaration LlmdUtilizationPolicy() {
  const LlmdFlowControl::Options defaults;
  PolicyDeclaration policy;
  policy.name = "llmd_utilization";
  policy.settings = {NumberSetting("queue", defaults.queue, 0.01, 1e6, "waiting requests at which a replica is full"),
                     NumberSetting("kv", defaults.kv, 0.01, 1, "KV share at which a replica is full"),
                     Headroom("share above its limits to which a single replica is still chosen"), Ttl()};
  policy.alternatives = {"queue=10,kv=0.9", "queue=20,kv=0.95", "queue=2", "ttl=2"};
  policy.text = {"llm-d, Gateway API Inference Extension",
                 "all wait while the mean of max(waiting/queue, KV/kv) is at least 1; then queue, KV and prefix scores",
                 "the reported waiting requests and KV share; the prompts that it sent", "queue time", kNotes};
  policy.report_period = kPoll;
  policy.make = [](const PolicyChoice& choice, uint64_t seed) {
    LlmdFlowControl::Options options;
    options.queue = choice["queue"];
    options.kv = choice["kv"];
    options.headroom = choice["headroom"];
    options.ttl = Duration::Seconds(choice["ttl"]);
    return MakeRival<LlmdFlowControl>(options, seed);
  };
  return policy;
}

PolicyDeclaration LlmdConcurrencyPolicy() {
  const LlmdFlowControl::Options defaults;
  PolicyDeclaration policy;
  policy.name = "llmd_concurrency";
  policy.settings = {WholeSetting("max", defaults.in_flight, 1, 1e6, "requests in flight at which a replica is full"),
                     Headroom("share above its limit to which a single replica is still chosen"), Ttl()};
  policy.alternatives = {"max=32", "max=64", "max=200", "max=64,ttl=2"};
  policy.text = {"llm-d, Gateway API Inference Extension",
                 "all wait while the mean of in flight/max is at least 1; then queue, KV and prefix scores",
                 "its own requests in flight; the reported waiting requests and KV share; the prompts that it sent",
                 "queue time", kNotes};
  policy.report_period = kPoll;
  policy.make = [](const PolicyChoice& choice, uint64_t seed) {
    LlmdFlowControl::Options options;
    options.by_concurrency = true;
    options.in_flight = choice["max"];
    options.headroom = choice["headroom"];
    options.ttl = Duration::Seconds(choice["ttl"]);
    return MakeRival<LlmdFlowControl>(options, seed);
  };
  return policy;
}

}  // namespace penstock
