// The replicas that serve a model: their health as a whole, and the largest prompt that they can hold.
//
// A brief per replica answers questions about a whole fleet from a few cache lines. Invariant: the servers of a model
// are the replicas of the Fleet that name it and are not removed, in rising order. A brief is as of the last
// UpdateBrief of its replica. Prefill replicas are no servers (router/core/pairs). Owned by PenstockCore.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_SERVERS_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_SERVERS_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "router/core/books/fleet_state.h"
#include "router/core/books/model_servers.h"
#include "router/core/sessions/session_book.h"

namespace penstock {

// Servers of a model that are always looked at one by one. Larger fleets are searched by bounds and indexes.
inline constexpr size_t kSmallFleet = 24;

class Servers {
 public:
  explicit Servers(FleetState& fleet) : fleet_(fleet) {}

  // The fleet has a new description.
  void Configure(Instant now);
  void SetHealth(ReplicaId id, Health health, Instant now);
  // The presence of the replica changed.
  void ResidencyChanged(size_t replica, Instant now);

  // Every replica has a price.
  bool priced() const { return priced_; }

  // By position, in rising order; empty for an unknown model.
  const std::vector<size_t>& Of(ModelId model) const {
    return model.value() < servers_.size() ? servers_[model.value()].replicas() : none_;
  }
  const ReplicaBrief& brief(size_t replica) const { return briefs_[replica]; }
  // Something of the replica changed.
  void UpdateBrief(size_t replica, Instant now);
  // The memory of the replica's pools changed: for each of their members.
  void UpdateFullness(const ReplicaState& replica, Instant now);

  // A replica that can be woken is up.
  bool AnyUp(ModelId model) const;
  // One of those that are up is awake, and stays so.
  bool AnyAwake(ModelId model) const;
  // No server is up, and none went down or joined so recently that it is waited for. One that joined and has not named
  // its models may be of this one.
  bool DownForGood(ModelId model, Instant now) const;
  // The same of the only server that a request can use.
  bool HomeDownForGood(const RequestArrived& arrived, Instant now) const;
  // Until when requests wait for a server to come back; Never while one is up.
  Instant OutageEnd(ModelId model, Instant now) const;

  // The longest prompt that the replica's context and pools can hold.
  Tokens Longest(size_t replica) const { return longest_[replica]; }
  // The length that a replica must be able to hold. A request that has outgrown all servers since it was accepted may
  // go to any of them: its engine ends it at its limit. Where less is in doubt, it waits.
  Tokens LengthNeeded(const RequestState& request) const;
  // True: the prompt takes a large part of a pool of one of its servers. Smaller ones find room in the gaps that others
  // leave.
  bool IsLarge(const RequestState& request) const {
    return request.Prompt() >= large_from_[request.arrived.model.value()];
  }
  // True: some servers of its model can never take the request, as they are too small or not its home. O(servers) at
  // worst, O(1) as a rule.
  bool OnlySomeTake(const RequestState& request) const;
  // The most tokens of the prompt that any server has cached; in a large fleet any of the deepest holders.
  Tokens MostCached(const RequestState& request) const;
  // The part of a prompt that servers hold which are not among the deepest holders.
  struct Elsewhere {
    Tokens most{0};                   // At most so many leading tokens.
    std::span<const uint32_t> group;  // Replicas that hold most of it; other models' too.
  };
  struct Holder {
    size_t server = 0;
    Tokens most{0};  // At most so many leading tokens: it lacks the landmark behind them.
  };
  // Has room for what a search looks at, so that it allocates nothing.
  using Holders = absl::InlinedVector<Holder, 3 * kSmallFleet>;
  // The servers that hold most of the prompt go into `out`, the deepest first. They are whole groups that hold the
  // same landmarks, kSmallFleet servers at most. The last question costs nothing again.
  Elsewhere DeepestHolders(const RequestState& request, Holders& out) const;

  // The model's kinds of servers, their factors at most ModelServers::kRefresh old.
  const ModelServers& Fresh(ModelId model, Instant now);
  // GPU seconds that a request with this output per sequence takes on the fastest kind, cached prefill left out.
  double ExpectedWork(const RequestState& request, double output, Instant now);

  SessionBook sessions;  // The last server of each session.

 private:
  void FindLongPrompts();
  double FullnessOf(const ReplicaState& replica, Instant now) const;
  Elsewhere LookForHolders(const RequestState& request, Holders& out) const;

  FleetState& fleet_;
  bool priced_ = false;
  const std::vector<size_t> none_;     // The servers of an unknown model.
  std::vector<ModelServers> servers_;  // One entry per model.
  std::vector<ReplicaBrief> briefs_;   // One entry per replica.
  Instant unnamed_since_;              // When the last of those joined that have not named their models yet.
  std::vector<Tokens> longest_;        // One entry per replica.
  std::vector<Tokens> large_from_;     // One entry per model.
  std::vector<Tokens> shortest_;       // The least of longest_ of its servers. One entry per model.
  // The answer to the last question for holders, as of so many changes of them. The hash of its last block names a
  // whole prefix.
  struct Answer {
    uint64_t changes = 0;
    ModelId model;
    Tokens prompt{0};
    size_t blocks = 0;
    uint64_t last = 0;
    Elsewhere elsewhere;
    Holders deepest;
  };
  mutable Answer answer_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_SERVERS_H_
