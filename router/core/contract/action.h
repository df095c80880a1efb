// The closed set of outputs of a decision core, in decision order.
//
// A RequestAction names a request, and the edge gives it to the loop that serves the request. Each RequestArrived is
// answered within the same Apply by exactly one of Forward, Park or Refuse; a parked request later gets Forward or
// Refuse. An action for a request that has already closed is void.
//
// An Action is any output. Sleep, Wake, SetShare and LoadAdapter are actions of the fleet: they name a replica and no
// request. Mailboxes and tickets take RequestAction, so the compiler shows each place that routes actions. A Sleep or
// Wake is answered by ReplicaResidency when it has ended, a LoadAdapter by AdapterResidency. The core has one of them
// under way per replica.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_ACTION_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_ACTION_H_

#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include "base/ids.h"
#include "base/residency.h"
#include "base/units.h"
#include "router/core/contract/refusal.h"
#include "router/core/contract/wait_reason.h"

namespace penstock {

// The first stage of a request that a pair serves: its prompt is computed there, and the engine of the Forward takes
// the cache over. PrefillEnded answers it.
struct PrefillOrder {
  ReplicaId replica;
  LeaseId lease;
  Duration expected;  // From now until the cache is handed over.
  bool operator==(const PrefillOrder&) const = default;
};

struct Forward {
  RequestId request;
  ReplicaId replica;
  LeaseId lease;
  Duration waited;                                     // Since arrival.
  Duration expected_ttft;                              // From now.
  double peak_share = 0;                               // Forecast bound of the fullest pool it joins, over capacity.
  std::optional<PrefillOrder> prefill = std::nullopt;  // Empty: `replica` computes the prompt.
  bool operator==(const Forward&) const = default;
};

// The request waits in the core; the edge keeps its client.
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
  int64_t value = 0;     // The value that broke it.
  bool early = false;    // Its last chance had not passed: others like it were late (admission/early_refusal.h).
  bool unwoken = false;  // No replica is up because one could not be woken.
  bool operator==(const Refuse&) const = default;
};

// The reason why the core takes a request back from its engine. The values stand in event logs.
enum class AbortReason : uint8_t {
  kPoolFull,  // Else the engine would fail all requests of the pool.
  kParking,   // The stream is ahead of its due times and lends its memory.
  kEviction,  // A request of a class above its own takes its place.
};
// True: a stream that cannot go on elsewhere is left alone, and AnswerFixed is the answer.
constexpr bool MayDecline(AbortReason reason) { return reason != AbortReason::kPoolFull; }

// Abort upstream, keep the client, answer with RequestRequeued.
struct Abort {
  RequestId request;
  LeaseId lease;
  AbortReason reason = AbortReason::kPoolFull;
  bool operator==(const Abort&) const = default;
};

using RequestAction = std::variant<Forward, Park, Refuse, Abort>;

// The replica gives its memory back. Nothing of this core runs on it.
struct Sleep {
  ReplicaId replica;
  SleepLevel level = SleepLevel::kUnsaid;  // kUnsaid: the level of its configuration.
  bool operator==(const Sleep&) const = default;
};

// The replica takes its memory again. The replicas that had it have given it back.
struct Wake {
  ReplicaId replica;
  bool operator==(const Wake&) const = default;
};

// The engine gets another limit for its cache in elastic memory. An ElasticReport with that limit answers it. The core
// takes an order that no report answers within kShareReadBack as failed.
inline constexpr Duration kShareReadBack = Duration::Seconds(3);
struct SetShare {
  ReplicaId replica;
  Bytes limit{0};
  bool operator==(const SetShare&) const = default;
};

// The engine of the replica loads an adapter; it unloads another one first.
struct LoadAdapter {
  ReplicaId replica;
  ModelId model;
  std::optional<ModelId> instead_of;
  bool operator==(const LoadAdapter&) const = default;
};

using Action = std::variant<Forward, Park, Refuse, Abort, Sleep, Wake, SetShare, LoadAdapter>;

// The action as one of a request; nullopt: it is one of the fleet.
inline std::optional<RequestAction> RequestActionOf(const Action& action) {
  return std::visit(
      [](const auto& concrete) -> std::optional<RequestAction> {
        using Concrete = std::decay_t<decltype(concrete)>;
        if constexpr (std::is_constructible_v<RequestAction, Concrete>) return concrete;
        return std::nullopt;
      },
      action);
}

inline RequestId RequestOf(const RequestAction& action) {
  return std::visit([](const auto& concrete) { return concrete.request; }, action);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_ACTION_H_
