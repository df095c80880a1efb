#include "bench/simulation/hindsight_work.h"

namespace penstock::bench {

HindsightWork HindsightWorkOn(const SimulatedReplica& replica, const SimulatedArrival& arrival, const ClassSpec& goals,
                              const MeanLengths& mean, const PrefillWork& prefill) {
  constexpr double kMs = 1e-3;
  const StepCoefficients& step = replica.coefficients;
  const bool slow = replica.slow_from == Duration() && replica.slow_to == Duration::Infinite();
  const double unit = kMs * (slow ? replica.slowdown : 1);
  const double gpus = static_cast<double>(std::max<size_t>(1, replica.gpus.size()));
  const double rows = std::max(1, replica.limits.max_sequences);
  const double pool = std::max(1.0, replica.limits.kv_tokens.AsDouble());
  // Blocks that several requests hold are held once, so only the rest counts.
  const double prompt = arrival.prompt.AsDouble();
  const double own = std::max(0.0, prompt - kPrefixBlock.AsDouble() * static_cast<double>(arrival.prefix.size()));
  // The sequences of a batch share its floor by their number or by their memory; the shares sum to one at most.
  const bool memory_binds = (mean.prompt + mean.output / 2) * rows > pool;
  const double floor = memory_binds ? step.a / pool : 0;
  const double attend = step.c * kMs;
  const double alone = (step.a + step.b) * unit / replica.limits.tokens_per_step;
  const double per_token = unit * gpus / replica.limits.tokens_per_step;
  HindsightWork work;
  work.at = arrival.at.seconds();
  work.ttft = goals.ttft.seconds();
  work.tpot = goals.tpot.seconds();
  work.output = arrival.output.AsDouble();
  work.prefill = unit * gpus * step.PrefillMs(prefill);
  work.token = per_token * (step.b + (memory_binds ? 0 : step.a / rows) + attend * prompt + floor * own);
  work.token_grows = per_token * (attend + floor);
  work.held = alone * own / pool;
  work.held_grows = alone / pool;
  return work;
}

}  // namespace penstock::bench
