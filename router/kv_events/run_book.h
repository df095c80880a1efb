// The requests of the router as the engines with events meet them: put together from the events of the core.
//
// Takes part in no decision. At most kMostRuns requests are known; those beyond are not matched. Pure; O(1) per event.
#ifndef PENSTOCK_ROUTER_KV_EVENTS_RUN_BOOK_H_
#define PENSTOCK_ROUTER_KV_EVENTS_RUN_BOOK_H_

#include <optional>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/kv_events/chain_matcher.h"

namespace penstock {

// The part of the core's events and actions that matters here.
using SeenRun = std::variant<RequestArrived, Forward, RequestRequeued, RequestClosed, ReplicaHealth>;
struct SeenAt {
  SeenRun what;
  Instant at;
};

// Appends what is to be seen of an event and its actions.
void SeeRuns(const Event& event, Instant now, const std::vector<Action>& actions, std::vector<SeenAt>& seen);

class RunBook {
 public:
  static constexpr size_t kMostRuns = 65'536;

  enum class Turn : uint8_t { kNothing, kDispatched, kClosed, kGone };
  // A step of a request at a replica.
  struct Change {
    Turn turn = Turn::kNothing;
    ReplicaId replica;
    EngineRun run;
  };
  // ReplicaHealth changes nothing here.
  Change Take(const SeenAt& seen);

  // Requests were missed: those that are known may have ended.
  void Clear() { runs_.clear(); }
  size_t size() const { return runs_.size(); }

 private:
  struct Run {
    EngineRun run;
    std::optional<ReplicaId> replica;
  };
  absl::flat_hash_map<RequestId, Run> runs_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_KV_EVENTS_RUN_BOOK_H_
