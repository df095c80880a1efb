// Why a request waits: one table for guards, receipts, the decision log and metrics.
//
// A request that no replica took has one reason: of the reasons that its tried replicas gave, the one of the highest
// rank. Guards are tested in order of rank, so that replica came nearest to taking the request.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_WAIT_REASON_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_WAIT_REASON_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// The values stand in event logs.
enum class WaitReason : uint8_t {
  kNoReplicaUp,
  kSequences,
  kRunway,
  kFirstToken,
  kRunningStreams,
  kMemory,
  kBehindOthers,
  kParked,
  kWaking,
  kLoadingAdapter,
  kFirstPrefill,
};
inline constexpr int kWaitReasonCount = 11;

struct WaitReasonTraits {
  WaitReason reason;
  absl::string_view label;  // Value in logs and metrics.
  absl::string_view text;   // A sentence for a person.
  // Its weight among the reasons of several tried replicas; the highest one counts. 0: no replica was tested.
  int rank;
};

inline constexpr std::array<WaitReasonTraits, kWaitReasonCount> kWaitReasons = {{
    {WaitReason::kNoReplicaUp, "no_replica_up", "No replica of the model can take a request.", 0},
    {WaitReason::kSequences, "sequences", "The engine's batch has no free row.", 2},
    {WaitReason::kRunway, "runway", "Enough prefill is on its way to the engine.", 3},
    {WaitReason::kFirstToken, "first_token", "The first token would miss the TTFT goal.", 4},
    {WaitReason::kRunningStreams, "running_streams", "Running streams would miss their next tokens.", 5},
    {WaitReason::kMemory, "memory", "The KV cache could become full.", 6},
    {WaitReason::kBehindOthers, "behind_others", "Requests ahead in the queue are tried first.", 0},
    {WaitReason::kParked, "parked", "The stream is ahead of its due times and has lent its memory.", 0},
    {WaitReason::kWaking, "waking", "The replicas of the model sleep, and one of them is to wake.", 1},
    {WaitReason::kLoadingAdapter, "loading_adapter", "An engine has to load the adapter first.", 1},
    {WaitReason::kFirstPrefill, "first_prefill", "An engine computes the prompt that it shares with another request.",
     0},
}};

constexpr const WaitReasonTraits& TraitsOf(WaitReason reason) { return kWaitReasons[static_cast<size_t>(reason)]; }

// The reason of a request that was tried on two replicas.
constexpr WaitReason HigherRanked(WaitReason a, WaitReason b) { return TraitsOf(a).rank < TraitsOf(b).rank ? b : a; }

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_WAIT_REASON_H_
