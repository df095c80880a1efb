// The book of the engines' work, by the events and actions of a decision core, whatever its policy.
//
// The book keeps one row per request that waits or runs, and gives the GPU accounts the work of each replica:
//
//   on time      Until its first token, a request is on time up to arrival + TTFT goal. A stream is on time while it
//                has made at least the tokens that are due. One that goes on at another engine is due where it was.
//   late         The others. An answer that comes in one piece shows no progress: it is late when its last possible
//                token is overdue, and never where the client set no limit. An embedding is due at its TTFT goal.
//   for nobody   A request that left a running engine before its end, for ReplicaSpec::abort_hold. A report that
//                nothing runs there ends it.
//
// Due times before the first token are exact, to the next Sample. The caller counts the overdue streams. Pure; one
// owner. An event costs O(log requests), a sample O(replicas + models that memory holds
// back + requests that turned late).
#ifndef PENSTOCK_ROUTER_CORE_ACCOUNTS_WORK_BOOK_H_
#define PENSTOCK_ROUTER_CORE_ACCOUNTS_WORK_BOOK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "router/core/accounts/gpu_accounts.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/core/contract/memory_waits.h"

namespace penstock {

class WorkBook {
 public:
  // `accounts` outlives it, and knows the places of the replicas.
  explicit WorkBook(GpuAccounts& accounts) : accounts_(accounts) {}

  // The core took `event` at `now` and answered with `actions`.
  void Observe(const Event& event, Instant now, const std::vector<Action>& actions);
  // `late[replica]` of its streams are overdue; 0 where the list ends. `waits`: what memory holds back now.
  void Sample(std::span<const int64_t> late, const MemoryWaits& waits, Instant now);

  // Prompts and answers of requests that had begun, and that another run had to read again.
  int64_t recomputed_tokens() const { return recomputed_tokens_; }
  // Requests that wait or run.
  size_t requests() const { return requests_.size(); }

 private:
  enum class Stage : uint8_t { kArrived, kWaiting, kPrefilling, kDecoding };
  struct Request {
    ModelId model;
    ReplicaId replica;
    ReplicaId answers;  // It goes on there once its prompt is computed; mostly `replica`.
    Stage stage = Stage::kArrived;
    bool late = false;    // It is overdue without a token of its present run.
    bool begun = false;   // A run of it gave a token.
    bool visible = true;  // Its engine shows its progress.
    Instant due;          // Its first token, or where it shows no progress, its last one.
    Duration tpot;
    Tokens prompt{0};
    Tokens generated{0};  // Tokens of runs that ended.
    int64_t sequences = 1;
    Instant due_of_run;  // The first token of the present run.
  };
  struct Replica {
    int64_t prefilling = 0;
    int64_t prefilling_late = 0;
    int64_t decoding = 0;
    int64_t decoding_late = 0;
    int64_t for_nobody = 0;
    uint64_t generation = 0;  // A ghost of an earlier one is gone.
    Instant newest_ghost;
    Duration hold;
  };
  // A run that becomes overdue, or a ghost that ends.
  struct Timer {
    Instant at;
    uint64_t number = 0;  // Of the request, or of the ghost.
    bool ghost = false;
    ReplicaId replica;        // The ghost's.
    uint64_t generation = 0;  // The ghost's.
    bool operator<(const Timer& other) const {
      if (at != other.at) return at < other.at;
      return ghost != other.ghost ? other.ghost : number < other.number;
    }
  };

  void On(const RequestArrived& event);
  void On(const FirstToken& event);
  void On(const PrefillEnded& event);
  void On(const RequestRequeued& event);
  void On(const RequestClosed& event);
  void On(const EngineReport& event);
  void On(const FleetChanged& event);
  void On(const Forward& action);
  void On(const Park& action);
  void On(const Refuse& action);

  // Nobody has the place: what was there is forgotten.
  void Vacate(size_t position);
  // The request waits no more, or leaves its engine.
  void Leave(RequestId id, Request& request);
  void Haunt(ReplicaId replica);
  void EndOf(const Timer& timer);
  Timer TimerOf(RequestId id, const Request& request) const {
    Timer timer;
    timer.at = request.due_of_run;
    timer.number = id.value();
    return timer;
  }
  void Publish(ReplicaId replica);
  Replica* At(ReplicaId replica) { return replica.value() < replicas_.size() ? &replicas_[replica.value()] : nullptr; }

  GpuAccounts& accounts_;
  Instant now_;
  std::vector<ClassSpec> classes_;
  std::vector<Replica> replicas_;
  absl::flat_hash_map<RequestId, Request> requests_;
  absl::btree_set<Timer> timers_;
  uint64_t ghosts_ = 0;
  int64_t recomputed_tokens_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ACCOUNTS_WORK_BOOK_H_
