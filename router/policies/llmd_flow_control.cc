#include "router/policies/llmd_flow_control.h"

#include <algorithm>

#include "router/policies/draw.h"

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

RivalCore::Choice LlmdFlowControl::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
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

}  // namespace penstock
