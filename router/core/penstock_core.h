// Penstock's decision core: forecast, ledger, queue and placement behind AdmissionCore.
//
// What an event does: it changes the books (ledger, replica, forecaster), then the lanes it may have opened are pumped:
// their first waiting requests are tried on every replica that serves the model, and the best that passes all guards
// takes the request. Late binding: nothing is tied to a replica before it is forwarded.
// Owned by the caller (CoreHost, a simulator, a test), one call at a time. Costs are bounded: a pump looks at
// 13 requests of a lane and at the replicas that changed, an event brings at most kRefreshPerEvent forecasts of a
// replica up to date.
#ifndef PENSTOCK_ROUTER_CORE_PENSTOCK_CORE_H_
#define PENSTOCK_ROUTER_CORE_PENSTOCK_CORE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "kvmodel/memory_ledger.h"
#include "kvmodel/output_forecast.h"
#include "router/core/admission_core.h"
#include "router/core/density_order.h"
#include "router/core/penstock_options.h"
#include "router/core/placement.h"
#include "router/core/pool_state.h"
#include "router/core/replica_state.h"
#include "router/core/wait_queue.h"

namespace penstock {

// A model whose last replica vanished is waited for this long before its requests are refused.
inline constexpr Duration kReturnGrace = Duration::Seconds(5);

class PenstockCore : public AdmissionCore {
 public:
  explicit PenstockCore(PenstockOptions options = {});
  ~PenstockCore() override;

  void Apply(const Event& event, Instant now, std::vector<Action>& actions) override;
  std::optional<Instant> NextDeadline() const override;
  CoreView View(Instant now) const override;
  std::optional<WaitView> WaitOf(RequestId request) const override;

 private:
  using Actions = std::vector<Action>;

  // One per event kind.
  void On(const RequestArrived& event, Actions& actions);
  void On(const FirstToken& event, Actions& actions);
  void On(const RequestClosed& event, Actions& actions);
  void On(const RequestReturned& event, Actions& actions);
  void On(const Progress& event, Actions& actions);
  void On(const EngineReport& event, Actions& actions);
  void On(const ReplicaHealth& event, Actions& actions);
  void On(const FleetChanged& event, Actions& actions);
  void On(const ShutdownStarted& event, Actions& actions);
  void On(const TimerFired& event, Actions& actions);

  // Arrival.
  std::optional<Refuse> CheckFits(const RequestState& request) const;
  const std::vector<size_t>& ServersOf(ModelId model) const;
  bool Placeable(const ReplicaState& replica) const;
  bool AnyReplicaUp(ModelId model) const;
  bool DownForGood(ModelId model) const;

  // Waiting.
  void Enqueue(RequestState* request);
  void Dequeue(RequestState* request);
  void ScheduleCheck(RequestState* request);
  Instant NextCheckOf(const RequestState& request) const;
  std::optional<Refusal> LateReason(const RequestState& request) const;
  void RefuseWaiting(RequestState* request, Refusal reason, Actions& actions);
  void RefuseLate(Actions& actions);
  Duration RetryAfter(const RequestState& request) const;

  // Placement.
  struct Choice {
    size_t replica = 0;
    double peak_share = 0;
    double expected_ttft = 0;
    Tokens prefill{0};
  };
  void Pump(Lane& lane, Actions& actions);
  void PumpOpened(Actions& actions);
  // The best of `among` that passes every guard; remembers why when none does.
  std::optional<Choice> Choose(RequestState* request, const std::vector<size_t>& among);
  void Dispatch(RequestState* request, const Choice& choice, Actions& actions);
  void PrepareForecast(RequestState* request);
  GrowthMember MemberOf(const RequestState& request, const ReplicaState& replica, const Footprint& footprint) const;
  void Contributions(const RequestState& request, const ReplicaState& replica, std::vector<GrowthVector>& out) const;
  Instant PlaceInLane(const RequestState& request);
  double ExpectedWork(const RequestState& request, double output) const;
  double OutputCap(const RequestState& request, const ReplicaState& replica) const;
  int BusyNeighbours(const ReplicaState& replica) const;
  PlacementContext Context() const;

  // Running.
  void Open(const ReplicaState& replica);
  void OpenAll();
  void LeaveReplica(RequestState* request);
  void Refresh(RequestState* request, ReplicaState& replica);
  void RefreshSome(ReplicaState& replica);
  void CountTokens(RequestState* request, const ReplicaState& replica);
  void AdvanceUnobserved(ReplicaState& replica);
  void ProtectFatalPools(const ReplicaState& replica, Actions& actions);
  RequestState* VictimIn(PoolId pool) const;
  double HeldByMembers(const PoolState& pool, PoolId id, uint64_t epoch) const;
  void SampleForecast(PoolState& pool, PoolId id);
  void LearnFrom(RequestState* request, const RequestClosed& event, int64_t generated);

  RequestState* Find(RequestId id);
  const ClassSpec& GoalsOf(const RequestState& request) const;

  const PenstockOptions options_;
  Instant now_;
  Fleet fleet_;
  std::vector<PoolState> pools_;
  std::vector<ReplicaState> replicas_;
  std::vector<std::vector<size_t>> neighbours_;  // By replica: those that share one of its GPUs.
  std::vector<Lane> lanes_;                      // By model.
  std::vector<std::vector<size_t>> servers_;     // By model: the replicas that serve it.
  // Replicas where something changed that may let a request in, since the last pump. A request that was tried
  // everywhere is tried again only there.
  std::vector<bool> opened_;
  std::vector<size_t> opened_list_;
  MemoryLedger ledger_;
  OutputForecaster outputs_;
  DensityOrder density_;
  absl::flat_hash_map<RequestId, std::unique_ptr<RequestState>> requests_;  // Never iterated.
  absl::btree_set<std::pair<Instant, RequestId>> checks_;                   // Waiting requests by their next check.
  int64_t queued_requests_ = 0;
  Bytes queued_bytes_{0};
  uint64_t next_sequence_ = 1;
  bool shutting_down_ = false;
  CoreCounters counters_;
  std::vector<RequestState*> candidates_;     // Scratch of Pump.
  std::vector<size_t> reopened_;              // Scratch of Pump.
  std::vector<Choice> choices_;               // Scratch of Choose.
  std::vector<GrowthVector> growth_scratch_;  // Scratch of Choose and Dispatch.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PENSTOCK_CORE_H_
