// One request inside the core, from its arrival to its closing event.
//
//   waiting --Forward--> prefilling --first token--> decoding --RequestClosed--> gone
//      ^                     |  \-----Abort-----/
//      |                     |          v
//      \--RequestRequeued----/       aborting --RequestRequeued--> waiting
//   waiting --Refuse or RequestClosed--> gone
//
// Invariant: `waiting` means something while the request waits, `running` and `pools` while an engine has it.
// Owned by RequestTable; lanes and replicas keep plain pointers while the phase says so.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_STATE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kvmodel/growth_forecast.h"
#include "kvmodel/memory_ledger.h"
#include "kvmodel/output/output_forecast.h"
#include "kvmodel/prefill_work.h"
#include "router/core/books/pool_state.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/core/sessions/session_book.h"
#include "router/core/tenants/tenant_charge.h"

namespace penstock {

enum class RequestPhase : uint8_t {
  kWaiting,
  kPrefilling,  // Forwarded, no token yet.
  kDecoding,
  kAborting,  // Abort sent; its memory still counts.
};

// The replica that has reserved memory for a waiting request.
struct ReservationState {
  std::optional<ReplicaId> replica;
  Instant next;            // None is looked for before.
  bool by_mean = false;    // Its request has used its patience: room by the mean is enough.
  bool held_back = false;  // Something else than memory keeps its request waiting: it binds nobody.
};

// The replica whose prefill a waiting request waits for, because it shares a long prompt.
struct CompanyState {
  std::optional<ReplicaId> replica;  // None: it waits for nothing but room.
  PrefillWork own;                   // The part of its prompt that is not cached there.
  double left_saved = 0;             // The GPU seconds that the cache of the choice it left saves.
  double left_first_token = 0;       // Seconds to a first token there.
  Instant until = Instant::Never();  // It waits for none from then on; Never: it has not waited for one yet.
};

// The servers that a waiting request was tried on since they changed last.
struct Tries {
  bool everywhere = false;          // No server is left that it was not tried on.
  std::vector<uint32_t> failed_on;  // Before that: the replicas that it was tried on, in rising order.

  void Forget() {
    everywhere = false;
    failed_on.clear();
  }
};

// The tries of a waiting request whose prompt a prefill replica is to compute (router/core/pairs).
struct StageTries {
  bool no_prefill = false;  // No prefill replica could take its prompt; those that opened since are left.
  bool by_whole = false;    // The last try also looked for a decode replica that computes the prompt.
  Tries whole;              // With one stage.

  void Forget() {
    no_prefill = by_whole = false;
    whole.Forget();
  }
};

// The part of a request that the queue uses.
struct WaitState {
  Instant place;       // Its key in the lane: the deadline of the first token, shifted as lane_order.h says.
  Instant next_check;  // When it must be looked at though nothing else happens.
  Instant since;  // Its class's queue time counts from here: its arrival, or the failure of an answer that had begun.
  WaitReason reason = WaitReason::kBehindOthers;
  bool committed = false;    // The core took it back from an engine: it is never refused for lateness.
  bool begun = false;        // An engine had begun its answer and failed: its TTFT goal binds no more.
  bool best_effort = false;  // No server could make its TTFT goal: it stands behind those that can.
  bool parked = false;       // It is ahead of its due times: nobody looks at it before it is due back.
  Tries tries;
  StageTries staged;
  uint64_t tried_at = 0;  // The pump that looked at it last.
  Tokens cached{0};       // The most of its prompt that a replica was seen to have cached.
  ReservationState reservation;
  CompanyState company;
  absl::InlinedVector<ReplicaId, 1> avoid;  // They failed it or pushed it back; taken only when no other can be.

  bool Avoids(size_t index) const {
    return std::find(avoid.begin(), avoid.end(), ReplicaId(static_cast<uint32_t>(index))) != avoid.end();
  }
  // The request is to be tried everywhere once more.
  void ForgetTries() {
    tries.Forget();
    staged.Forget();
  }
};

// The service that a request takes from the share of its tenant.
struct ServiceState {
  double expected = 0;      // Forecast as of its arrival, in the unit of the fleet's fairness.
  TenantCharge charged;     // Meaningful while `paid`.
  uint32_t books = 0;       // The books that it was charged in.
  bool paid = false;        // It was dispatched, and its charge stands until it ends.
  bool queued = false;      // It stood in the queue since its arrival or its last try.
  bool guaranteed = false;  // The share of its class paid for it, or it was promoted: it gives way to nobody.
  bool excused = false;     // It waits by choice or cannot be placed at all: it holds no other tenant back.
  bool only_some = false;   // Some servers of its model can never take it: it takes nobody's turn there.
};

// The part of a prompt that a replica was expected to have cached.
struct CacheHope {
  Tokens live{0};      // Leading tokens that running requests held, or that the engine reported.
  Tokens left{0};      // Tokens after those, left by requests that ended.
  int64_t blocks = 0;  // The blocks of both.
  Tokens host{0};      // Tokens after those, in the memory of the host.
  Tokens expected{0};  // All of them, as far as each tier of the cache had been found reliable.
  Duration load;       // To load the part of the host that is expected.
  PrefillPrice price;  // That of the prefill that they save.
  Tokens seen{-1};     // The cached part as the first token shows it; negative: it shows nothing.

  Tokens All() const { return live + left + host; }
  // The engine may have to compute a part that counts as cached.
  bool guessed() const { return left + host > Tokens(0); }
  // Seconds of prefill that so many leading tokens save.
  double Seconds(Tokens cached) const { return price.Of(PrefillOf(Tokens(0), cached)); }
};

// The part of a request that teaches when others are to be refused.
struct EvidenceState {
  bool counted = false;     // It counts as waiting in DrainBySize.
  bool follows_up = false;  // Its end shows whether a Retry-After was long enough.
};

// The first stage of a request whose prompt another replica computes (router/core/pairs).
struct StageState {
  bool apart = false;    // A prefill replica computes its prompt.
  bool blocked = false;  // The last try found no such replica that could take it.
  bool open = false;     // The prompt is on its way there, or its cache is being handed over.
  double least = 0;      // Seconds until its cache is handed over, if all replicas were idle.
  double ahead = 0;      // The same as forecast by the last try.
  double decode = 0;     // Seconds from then to the first token, as of the dispatch.
  Instant ended_at;      // When its prompt was computed.
};

// The part of a request that its replica uses.
struct RunState {
  ReplicaId replica;
  LeaseId lease;
  size_t slot = 0;          // Position among the replica's requests.
  Tokens prefill_left{0};   // Of its prompt, not yet computed as far as steps tell.
  Duration load_left;       // For loading from the host, before the first of it is computed.
  bool in_cache = false;    // The blocks of its prompt are in the replica's PromptCache.
  bool computed = false;    // The engine computed its prompt.
  bool found_idle = false;  // No other request ran on its replica when it was sent there.
  Tokens shared{0};         // Leading tokens of its prompt that other running requests hold too.
  CacheHope hope;           // As of the dispatch.
  Tokens hinted{0};         // Tokens beyond it that only the hint of its session tells of.
  uint64_t probation = 0;   // Of its replica, when it was sent there on probation; 0: it was not.
  Instant dispatched;
  Instant first_expected;  // When the first token was forecast to come; an unobserved request is taken to get it then.
  // Tokens per sequence are base_tokens + the replica's steps - base_steps.
  int64_t base_tokens = 0;
  int64_t base_steps = 0;
  int64_t due_key = 0;                       // Key in the replica's due set; meaningful while decoding.
  StorageNeed storage = StorageNeed::kNone;  // Of its node, from its dispatch to its first token.
  bool evictable = false;                    // Its class was, when it was sent there.
  std::optional<AbortReason> recalled_for;   // While it is aborted; none once it has declined.
};

// The forecast of a request's output, per sequence.
struct OutputState {
  OutputForecaster::Key key;
  std::shared_ptr<const SurvivalCurve> curve;
  std::shared_ptr<const OutputForecaster::Trial> trial;  // Judged at the end; null: it is not.
  std::optional<Tokens> known;                           // The whole output, where it is known beforehand (simulation).
  bool known_in_growth = false;                          // The known output bounds the growth of pools too.
  double cap = 0;                    // Most tokens that the request can still generate, as of its dispatch.
  double p50 = 0, p90 = 0, p99 = 0;  // Forecast at admission; 0: not recorded.
  double expected = 0;               // Per sequence, as of its arrival; 0: prices are not compared.
  int64_t counted = 0;               // Tokens reported to the output forecaster so far.
};

// A running request's part of one pool.
struct PoolMembership {
  PoolId pool;
  Footprint footprint;
  Amount shared{0};  // Of its prompt, counted with the memory that requests share.
  Holding holding;   // Without that part.
  Membership member;
};

struct RequestState {
  RequestArrived arrived;
  Instant arrival;
  uint64_t sequence = 0;  // Order of arrival.
  RequestPhase phase = RequestPhase::kWaiting;
  Tokens kept{0};  // Generated before a requeue: part of the prompt of the next try.
  int requeues = 0;
  int parkings = 0;   // Times that it was parked.
  int evictions = 0;  // Times that it was evicted.
  SessionHint hint;   // As of its arrival.
  WaitState waiting;
  ServiceState service;
  EvidenceState evidence;
  StageState stage;
  RunState running;
  OutputState output;
  absl::InlinedVector<PoolMembership, 1> pools;
  absl::InlinedVector<Loan, 1> loans;  // The memory that it lends, from its parking until it runs again or ends.

  Tokens Prompt() const { return arrived.prompt + kept; }
  // The prefill of its prompt on an engine that has leading tokens of it cached. A cache that is handed over lacks the
  // last token only.
  PrefillWork PrefillAfter(Tokens cached) const { return UncachedPrefill(stage.apart ? Prompt() : cached, Prompt()); }
  // The prefill of the next `tokens` that steps compute of it; all of it is `running.prefill_left`.
  PrefillWork NextPrefill(Tokens tokens) const {
    const Tokens computed = std::max(Tokens(0), Prompt() - running.prefill_left);
    PrefillWork next = PrefillOf(computed, computed + tokens);
    if (tokens > Tokens(0)) next.load = running.load_left;
    return next;
  }
  PrefillWork PrefillLeft() const { return NextPrefill(running.prefill_left); }
  // Leading blocks in tokens. Blocks are cut by bytes, so all of them together may seem longer than the prompt.
  Tokens PrefixTokens(int64_t blocks) const {
    if (blocks == 0) return Tokens(0);
    const int64_t most = arrived.prompt.value() / static_cast<int64_t>(arrived.prefix.size());
    return Tokens(blocks * std::min(kPrefixBlock.value(), most));
  }
  // False: another replica keeps what the request goes on from.
  bool MayUse(size_t index) const { return !arrived.home || arrived.home->value() == index; }
  // It was parked and is due back.
  bool Returns() const { return phase == RequestPhase::kWaiting && !loans.empty() && !waiting.parked; }
  bool Running() const { return phase == RequestPhase::kPrefilling || phase == RequestPhase::kDecoding; }
};

// True: the waiting request was at an engine before, so its TTFT goal binds it no more.
inline bool CameBack(const RequestState& request) {
  return request.waiting.committed || request.waiting.begun || request.kept > Tokens(0);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_REQUEST_STATE_H_
