// Penstock's decision core: forecast, ledger, queue and placement behind AdmissionCore.
//
// What an event does: it changes the books (ledger, replica, forecaster), then the lanes it may have opened are pumped:
// their first waiting requests are tried on the replicas that serve the model, and the best that passes all guards
// takes the request. Late binding: nothing is tied to a replica before it is forwarded. Owned by the caller (CoreHost,
// a simulator, a test), one call at a time. Costs are bounded: a pump looks at 13 requests of a lane and at the
// replicas that changed, and an event pays for kTriesPerEvent tries on others; what it leaves undone a timer continues
// at once. An event brings kRefreshPerEvent forecasts up to date, in turn.
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
#include "router/core/books/pool_state.h"
#include "router/core/books/replica_state.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/penstock_options.h"
#include "router/core/placement/model_servers.h"
#include "router/core/placement/placement.h"
#include "router/core/queue/density_order.h"
#include "router/core/queue/wait_queue.h"

namespace penstock {

// What one event may cost: tries on replicas that did not change (and refusals), forecasts brought up to date.
inline constexpr size_t kTriesPerEvent = 48;
inline constexpr size_t kRefusalTries = 2;  // What a refusal costs of them.
inline constexpr size_t kRefreshPerEvent = 12;

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
  void On(const RequestRequeued& event, Actions& actions);
  void On(const Progress& event, Actions& actions);
  void On(const EngineReport& event, Actions& actions);
  void On(const ReplicaHealth& event, Actions& actions);
  void On(const FleetChanged& event, Actions& actions);
  void On(const ShutdownStarted& event, Actions& actions);
  void On(const TimerFired& event, Actions& actions);

  // Arrival.
  std::optional<Refuse> CheckFits(const RequestState& request) const;
  // What the prompt has at least beyond doubt: only what is surely too large is refused, the engine counts exactly.
  static Tokens LeastPrompt(const RequestState& request);
  // The longest prompt that the replica's context and pools can hold.
  Tokens LongestPrompt(const ReplicaSpec& spec) const;
  const std::vector<size_t>& ServersOf(ModelId model) const;
  bool Placeable(const ReplicaState& replica) const;
  bool AnyReplicaUp(ModelId model) const;
  void ReserveTables();
  bool DownForGood(ModelId model) const;

  // Waiting.
  void Enqueue(RequestState* request);
  void Dequeue(RequestState* request);
  void LetOthersPast(ModelId model);
  void ScheduleCheck(RequestState* request);
  Instant NextCheckOf(const RequestState& request);
  std::optional<Refusal> LateReason(RequestState* request);
  void RefuseWaiting(RequestState* request, Refusal reason, Actions& actions);
  void RefuseLate(Actions& actions);
  Duration RetryAfter(const RequestState& request) const;
  const ModelServers& FreshServers(ModelId model);
  // Until when requests wait for a replica to come back; Never while one is up.
  Instant OutageEnd(ModelId model) const;

  // Placement.
  struct Choice {
    size_t replica = 0;
    double peak_share = 0;
    double expected_ttft = 0;
    Tokens prefill{0};
    size_t growth = 0;  // Where its contributions to the replica's pools begin in choice_growth_.
  };
  void Pump(size_t lane, Actions& actions);
  void TryLane(size_t index, Actions& actions);
  void PumpOpened(Actions& actions);
  // Pays for tries on replicas that did not change, and for refusals; false when the event has spent what it may.
  bool Spend(size_t tries);
  // Where a request is tried now: at first the emptiest replicas, then the others by and by, and those that opened.
  const std::vector<size_t>& ReplicasToTry(RequestState* request);
  // What a replica must be able to hold. One that has outgrown them all since it was accepted may go anywhere: its
  // engine ends it at its limit.
  Tokens LengthNeeded(const RequestState& request) const;
  void AddEmptiest(const RequestState& request);
  bool TriedEverywhere(const RequestState& request) const;
  double FullnessOf(const ReplicaState& replica) const;
  ReplicaBrief BriefOf(const ReplicaState& replica) const;
  // The best of the replicas to try that passes every guard; remembers why when none does.
  std::optional<Choice> Choose(RequestState* request);
  void Dispatch(RequestState* request, const Choice& choice, Actions& actions);
  void PrepareForecast(RequestState* request);
  // As what the request would grow, or grows, in each pool of the replica: into member_scratch_.
  const std::vector<GrowthMember>& MembersOf(const RequestState& request, const ReplicaState& replica);
  GrowthMember MemberOf(const RequestState& request, const ReplicaState& replica, const PoolShare& share) const;
  // Forecast bound of the replica's fullest pool over capacity, with the request; nullopt when it does not fit.
  std::optional<double> TestMemory(const RequestState& request, const ReplicaState& replica);
  Instant PlaceInLane(const RequestState& request);
  double ExpectedWork(const RequestState& request, double output);
  // The most of its prompt that any replica has cached.
  Tokens MostCached(const RequestState& request) const;
  double OutputCap(const RequestState& request, const ReplicaState& replica) const;
  int BusyNeighbours(const ReplicaState& replica) const;
  PlacementContext Context() const;

  // Running.
  void Open(const ReplicaState& replica);
  void OpenPools();  // Those that ended drains have freed.
  void OpenFormerPools(const RequestState& request, const ReplicaState& replica);
  void LeaveReplica(RequestState* request);
  void Refresh(RequestState* request, ReplicaState& replica);
  // The next of the replica's forecasts in turn, `most` of them.
  void RefreshSome(ReplicaState& replica, size_t most);
  void CountTokens(RequestState* request, const ReplicaState& replica);
  void AdvanceUnobserved(ReplicaState& replica);
  void ProtectFatalPools(const ReplicaState& replica, Actions& actions);
  RequestState* VictimIn(PoolId pool) const;
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
  std::vector<ModelServers> servers_;            // By model.
  std::vector<bool> unfinished_;                 // By model: its lane has to be pumped.
  std::vector<bool> untried_;                    // By model: some of its lane had no look at what opened last.
  std::vector<uint64_t> skipped_;                // By model: the last pump that left some of its lane untried.
  uint64_t pumps_ = 0;
  std::vector<ReplicaBrief> briefs_;  // By replica.
  std::vector<Tokens> longest_;       // By replica: LongestPrompt.
  size_t budget_ = 0;                 // Of tries that this event may still pay for.
  size_t next_tick_ = 0;              // Pool whose risk is looked at next.
  int64_t unobserved_ = 0;            // Running requests whose progress is forecast only.
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
  // Scratch, kept for its memory.
  std::vector<PoolId> freed_;
  std::vector<RequestState*> candidates_;
  std::vector<RequestState*> blocked_;
  std::vector<size_t> among_;
  std::vector<std::pair<double, size_t>> by_fullness_;
  std::vector<Choice> choices_;
  std::vector<GrowthVector> choice_growth_;
  std::vector<GrowthVector> growth_scratch_;
  std::vector<GrowthMember> member_scratch_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PENSTOCK_CORE_H_
