// Forecasts of output lengths and of the memory that a request grows to; learning from requests that run and end.
//
// Invariant: each generated token of a request is reported to the output curves once (`output.counted`), whichever
// replica makes it. Owned by PenstockCore. MemberOf is O(1), Prepare five hash lookups.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_FORECASTS_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_FORECASTS_H_

#include <memory>
#include <optional>

#include "kvmodel/output/output_forecast.h"
#include "router/core/books/fleet_state.h"

namespace penstock {

// Facts about outputs that a core is given. A router knows none; the simulator's yardsticks know lengths.
class OutputKnowledge {
 public:
  virtual ~OutputKnowledge() = default;
  // The cell of the output curves that the request reads and teaches.
  virtual OutputForecaster::Key KeyOf(const RequestArrived& arrived) const {
    return {arrived.model, arrived.tenant, arrived.prompt, arrived.max_output, arrived.shape};
  }
  // False: every request reads the tenant's detail, whatever forecast best.
  virtual bool ChoosesLevels() const { return true; }
  // The whole output of a request; nullopt: unknown.
  virtual std::optional<Tokens> OutputOf(RequestId) const { return std::nullopt; }
  // True: a known output bounds the growth of pools too, not the order of the queue only.
  virtual bool InGrowth() const { return true; }
};

class Forecasts {
 public:
  Forecasts(const FleetState& fleet, std::unique_ptr<const OutputKnowledge> knowledge)
      : fleet_(fleet), knowledge_(std::move(knowledge)), outputs_(kMostCells, knowledge_->ChoosesLevels()) {}

  // The fleet has a new description: the curves of vacant models are forgotten.
  void Configure();
  // The request begins to wait: reads its output curve.
  void Prepare(RequestState* request);
  // Expected output of the whole request as of its arrival, in tokens per sequence: at least 1, at most the client's
  // limit.
  double ExpectedOutput(const RequestState& request) const;
  // The output tokens, of all sequences, that its engine is taken to have made of an answer in one piece. Zero for an
  // answer that shows its tokens.
  Tokens UnseenOutput(const RequestState& request) const;
  // The request goes to the replica: records the forecast that is compared with its end. Returns the expected further
  // output in tokens per sequence.
  double Admit(RequestState* request, const ReplicaState& replica);

  // Forecast pace of one stream of the replica, as MemberOf takes it. It holds until a step or a request changes the
  // replica or its neighbours.
  DecodePace PaceOf(const ReplicaState& replica) const { return replica.Pace(fleet_.BusyNeighbours(replica)); }
  // The request as a member of one of the replica's pools.
  GrowthMember MemberOf(const RequestState& request, const ReplicaState& replica, const PoolShare& share,
                        const DecodePace& pace, Instant now) const;

  // Reports the tokens that the request has generated since the last call.
  void Count(RequestState* request, int64_t generated) {
    const int64_t whole = request->kept.value() + generated;
    if (request->arrived.embedding || whole <= request->output.counted) return;
    outputs_.Advance(request->output.key, Tokens(request->output.counted), Tokens(whole));
    request->output.counted = whole;
  }
  // The request ended with `generated` tokens per sequence made by its last replica.
  void LearnFrom(RequestState* request, const RequestClosed& event, int64_t generated);

  // Adds its part of a view.
  void Show(CoreView& view) const;

 private:
  static constexpr size_t kMostCells = 4096;

  // Most tokens per sequence that the request can generate on the replica.
  static double CapOf(const RequestState& request, const ReplicaSpec& spec);

  const FleetState& fleet_;
  const std::unique_ptr<const OutputKnowledge> knowledge_;
  OutputForecaster outputs_;
  CoreCounters scores_;  // The fields about outputs.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_FORECASTS_H_
