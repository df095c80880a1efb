// The step-time model T = a + b*B + c*K + d*P + e*A and its priors by GPU and model. A: millions of token pairs of the
// prefill (prefill_work.h).
//
// Source of the numbers: docs/step-time.md (fits to measured operators). A pair without a fit is scaled: a by weight
// bytes, c by KV bytes over bandwidth; d by FLOPs, e by FLOPs of attention. Values; no state, no threads.
#ifndef PENSTOCK_KVMODEL_STEP_COEFFICIENTS_H_
#define PENSTOCK_KVMODEL_STEP_COEFFICIENTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "kvmodel/model_shape.h"
#include "kvmodel/prefill_work.h"

namespace penstock {

// Prompts of this length take the same time with and without token pairs (StepCoefficients::Linear).
inline constexpr Tokens kLinearPrompt{2000};

// Milliseconds per step, per sequence, per thousand KV tokens, per prefill token, per million token pairs of prefill.
struct StepCoefficients {
  double a = 10;
  double b = 0.03;
  double c = 0.05;
  double d = 0.05;
  double e = 1.5;

  // Milliseconds of one step with `sequences` decoding and `kv_tokens` attended by them.
  constexpr double DecodeMs(double sequences, double kv_tokens) const {
    return a + b * sequences + c * kv_tokens * 1e-3;
  }
  // Milliseconds that prefill adds to its steps.
  constexpr double PrefillMs(const PrefillWork& prefill) const {
    return d * prefill.tokens.AsDouble() + e * prefill.pairs.AsDouble() * 1e-6 + prefill.load.milliseconds();
  }
  constexpr double StepMs(double sequences, double kv_tokens, const PrefillWork& prefill) const {
    return DecodeMs(sequences, kv_tokens) + PrefillMs(prefill);
  }
  // Every term times `factor`.
  constexpr StepCoefficients Scaled(double factor) const {
    return {a * factor, b * factor, c * factor, d * factor, e * factor};
  }
  // Without token pairs: a whole prompt of kLinearPrompt tokens takes the same time, a longer one less.
  constexpr StepCoefficients Linear() const { return {a, b, c, d + e * kLinearPrompt.AsDouble() * 1e-6, 0}; }
  bool operator==(const StepCoefficients&) const = default;
};

// A GPU as the models see it. Dense peak rates, no sparsity.
struct GpuKind {
  std::string name;
  Bytes memory{0};
  double bandwidth_gb_per_s = 0;
  double bf16_tflops = 0;
  double fp8_tflops = 0;  // 0: none.
  bool operator==(const GpuKind&) const = default;
};

// The GPU kind of this name, in any case, with or without vendor and form factor ("NVIDIA H100-SXM"); "a100" is
// a100-80. Null: unknown. Names: a10 l4 l40s a100-40 a100-80 h100 h200 b200 mi300x.
const GpuKind* FindGpuKind(absl::string_view name);
const std::vector<GpuKind>& GpuKinds();

// Context at which sliding-window layers are charged: beyond their window they read no more.
inline constexpr Tokens kReferenceContext{2048};
// Prompt at which they are charged their attention in prefill. An 8B model's quadratic term weighs as much as its
// linear one at 21,000 (L40S) to 46,000 tokens (H200).
inline constexpr Tokens kReferencePrompt{32'768};

struct StepPriorOptions {
  int tensor_parallel = 1;
  double bytes_per_parameter = 2;  // 1 for fp8 weights.
  CacheDtype cache_dtype = CacheDtype::kBf16;
};

// The fitted row of this pair, or one scaled from the nearest fit. The nearest fit has the same GPU if any has, else
// the closest bandwidth, then the closest weight bytes per GPU. A fit applies to every shape of the same layers, KV
// bytes and (within 2 %) parameters: unscaled, except e, which follows the width of attention. Never fails: unknown
// sizes are guessed from the layers, zero rates from the fit.
StepCoefficients StepPrior(const GpuKind& gpu, const ModelShape& shape, const StepPriorOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_STEP_COEFFICIENTS_H_
