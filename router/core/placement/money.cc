#include "router/core/placement/money.h"

namespace penstock {

double MoneyOf(const GuardQuestion& question, double output, double peak_share) {
  const ReplicaState& replica = question.replica;
  const RequestState& request = question.request;
  const StepModel& model = replica.steps_model();
  const double added = request.arrived.sequences;
  const double sequences = static_cast<double>(replica.streams().sequences());
  const double kv_tokens = static_cast<double>(replica.streams().kv_tokens());
  const double own_tokens = request.Prompt().AsDouble() + output / 2;
  const double beside = model.DecodeStep(sequences + added, kv_tokens + added * own_tokens, question.busy_neighbours);
  const ClassSpec& goals = question.goals();
  const bool well = peak_share <= kWellWithin && beside <= kWellWithin * goals.tpot.seconds() &&
                    question.outlook.ExpectedTtft() <= kWellWithin * goals.ttft.seconds();
  if (!well) return kNoMoney;
  // Neighbours that share the GPU have their own cost.
  const double with = model.DecodeStep(sequences + added, kv_tokens + added * own_tokens, 0);
  const double without = replica.busy() ? model.DecodeStep(sequences, kv_tokens, 0) : 0;
  const double prefill = question.outlook.price.Of(request.PrefillAfter(question.cached));
  return replica.spec().price * (prefill + output * (with - without));
}

}  // namespace penstock
