// One request inside the core, from arrival to its closing event.
//
//   waiting --Forward--> running --RequestClosed--> gone
//      ^                   |  \--Abort--> aborting --RequestRequeued--> waiting
//      |--RequestRequeued--/
//   waiting --Refuse--> gone          waiting --RequestClosed(kClientGone)--> gone
//
// Owned by PenstockCore; lanes and replicas keep plain pointers while the state says so.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_STATE_H_

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "kvmodel/growth_forecast.h"
#include "kvmodel/memory_ledger.h"
#include "kvmodel/output_forecast.h"
#include "router/core/books/pool_state.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock {

enum class RequestPhase : uint8_t {
  kWaiting,
  kPrefilling,  // Forwarded, no token yet.
  kDecoding,
  kAborting,  // Abort sent, its memory still counts.
};

struct RequestState {
  RequestArrived arrived;
  Instant arrival;
  uint64_t sequence = 0;  // Order of arrival.
  RequestPhase phase = RequestPhase::kWaiting;
  Tokens kept{0};  // Generated before a return and kept: part of the prompt of the next try.

  // Waiting.
  Instant deadline;    // Its place in the lane: of its first token, shifted by density_order.h.
  Instant next_check;  // When it must be looked at though nothing else happens.
  WaitReason wait_reason = WaitReason::kBehindOthers;
  Tokens cached{0};                         // The most of its prompt that a replica was seen to have cached.
  bool tried_emptiest = false;              // Since it began to wait.
  size_t next_server = 0;                   // Those before it, of its model's, have been tried.
  uint64_t tried_at = 0;                    // The pump that looked at it last.
  absl::InlinedVector<ReplicaId, 1> avoid;  // Failed it or pushed it back; taken only when no other can be.

  bool Avoids(size_t index) const {
    return std::find(avoid.begin(), avoid.end(), ReplicaId(static_cast<uint32_t>(index))) != avoid.end();
  }
  int requeues = 0;
  bool committed = false;  // The core took it back from an engine: it is never refused for lateness.
  bool begun = false;      // An engine had begun its answer and failed: its TTFT goal binds no more.
  Instant waits_since;     // Its class's queue time counts from here: its arrival, or the failure of what had begun.

  // Forwarded.
  ReplicaId replica;
  LeaseId lease;
  size_t slot = 0;         // Position among the replica's requests.
  Tokens prefill_left{0};  // Of its prompt, not yet computed as far as steps tell.
  Instant dispatched;
  Instant first_expected;  // When the first token was forecast to come; of unobserved requests it is taken to.
  // Tokens per sequence are base + replica steps - steps at base.
  int64_t base_tokens = 0;
  int64_t base_steps = 0;
  int64_t counted_tokens = 0;  // Reported to the output forecaster so far.
  int64_t due_key = 0;         // Key in the replica's due set; meaningful while decoding.
  OutputForecaster::Key forecast_key;
  std::shared_ptr<const SurvivalCurve> curve;
  std::optional<Tokens> true_output;  // Where it is known beforehand.
  bool guaranteed = false;            // Counted at its bound instead of its expectation.
  double output_cap = 0;              // Per sequence, in all.
  double p50 = 0, p90 = 0, p99 = 0;   // Forecast of the output at admission; 0: not recorded.
  struct InPool {
    PoolId pool;
    Footprint footprint;
    Holding holding;
    Membership member;
  };
  absl::InlinedVector<InPool, 1> pools;

  // To be tried everywhere once more.
  void ForgetTries() {
    tried_emptiest = false;
    next_server = 0;
  }
  Tokens Prompt() const { return arrived.prompt + kept; }
  bool Running() const { return phase == RequestPhase::kPrefilling || phase == RequestPhase::kDecoding; }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_STATE_H_
