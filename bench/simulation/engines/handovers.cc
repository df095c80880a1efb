#include "bench/simulation/engines/handovers.h"

#include <utility>

namespace penstock::bench {

ReplicaId Handovers::Begin(const Forward& forward) {
  Drop(forward.request.value());
  if (!forward.prefill) return forward.replica;
  Handover& handover = handovers_[forward.request.value()];
  handover.prefill = forward.prefill->replica;
  handover.decode = forward.replica;
  return handover.prefill;
}

bool Handovers::InPrefill(uint64_t request) const {
  const auto found = handovers_.find(request);
  return found != handovers_.end() && !found->second.computed;
}

ReplicaId Handovers::Computed(uint64_t request, simulated::SequenceId sequence) {
  Handover& handover = handovers_.at(request);
  handover.computed = handover.keeps = true;
  handover.sequence = sequence;
  return handover.decode;
}

Duration Handovers::TransferOf(uint64_t request, Tokens prompt) const {
  const ReplicaSpec& replica = spec_.fleet.replicas[handovers_.at(request).prefill.value()];
  return Duration::Seconds(replica.transfer * prompt.AsDouble());
}

void Handovers::Reach(uint64_t request, simulated::Sequence& sequence) {
  const auto found = handovers_.find(request);
  if (found == handovers_.end()) return;
  Handover& handover = found->second;
  if (!handover.computed) {
    sequence.embedding = sequence.keeps = true;
    return;
  }
  const size_t prefill = handover.prefill.value();
  // The cache of an engine that died meanwhile is lost: the decode engine computes the prompt.
  if (!engines_.IsDown(prefill)) sequence.arrived = sequence.prompt;
  if (std::exchange(handover.keeps, false)) engines_.Abort(prefill, handover.sequence);
}

void Handovers::Drop(uint64_t request) {
  const auto found = handovers_.find(request);
  if (found == handovers_.end()) return;
  if (found->second.keeps) engines_.Abort(found->second.prefill.value(), found->second.sequence);
  handovers_.erase(found);
}

}  // namespace penstock::bench
