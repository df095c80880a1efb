// What the edge must do: the closed set of outputs of the decision core, in decision order.
//
// Each RequestArrived is answered within the same Apply by exactly one of Forward, Park or Refuse; a parked request
// later gets Forward or Refuse. An action for a request that has already closed is void.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_ACTION_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_ACTION_H_

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "base/units.h"
#include "router/core/contract/refusal.h"

namespace penstock {

struct Forward {
  RequestId request;
  ReplicaId replica;
  LeaseId lease;
  Duration waited;         // Since arrival.
  Duration expected_ttft;  // From now.
  double peak_share = 0;   // Forecast bound of the fullest pool it joins, over capacity.
  bool operator==(const Forward&) const = default;
};

// What keeps a request waiting, in the order the placement tests them.
enum class WaitReason : uint8_t {
  kNoReplicaUp,
  kSequences,       // The engine's batch is full.
  kRunway,          // Enough prefill is on its way already.
  kFirstToken,      // The TTFT goal cannot be kept there.
  kRunningStreams,  // Running streams would miss their next tokens.
  kMemory,
  kBehindOthers,  // Not tried yet: others of its lane come first.
};

struct Park {
  RequestId request;
  WaitReason reason = WaitReason::kBehindOthers;
  int64_t position = 0;  // Requests of its lane and class ahead of it.
  bool operator==(const Park&) const = default;
};

struct Refuse {
  RequestId request;
  Refusal reason = Refusal::kQueueFull;
  Duration retry_after;  // Measured drain time, 1..60 s; zero where a retry cannot help.
  int64_t bound = 0;     // The bound that was broken: tokens of context or pool, requests of queue; 0: none.
  int64_t value = 0;     // What broke it.
  bool operator==(const Refuse&) const = default;
};

// Abort upstream, keep the client, answer with RequestRequeued.
struct Abort {
  RequestId request;
  LeaseId lease;
  bool operator==(const Abort&) const = default;
};

using Action = std::variant<Forward, Park, Refuse, Abort>;

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_ACTION_H_
