#include "kvmodel/step_coefficients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace penstock {
namespace {

struct Fit {
  const char* gpu;
  const char* shape;
  int tensor_parallel;
  double bytes_per_parameter;
  StepCoefficients coefficients;
};

// The last two numbers are fitted together for the 8B model except on B200, and for the 70B model with four GPUs in
// bf16. The others are derived as docs/step-time.md says.
constexpr std::array<Fit, 16> kFits = {{
    {"a100-80", "llama-3.1-8b", 1, 2, {10.98, 0.0343, 0.0815, 0.0526, 1.86}},
    {"h100", "llama-3.1-8b", 1, 2, {6.42, 0.0097, 0.0431, 0.0175, 0.88}},
    {"h200", "llama-3.1-8b", 1, 2, {4.88, 0.0121, 0.0304, 0.0181, 0.40}},
    {"l40s", "llama-3.1-8b", 1, 2, {22.26, 0.0307, 0.1911, 0.0549, 2.63}},
    {"b200", "llama-3.1-8b", 1, 2, {3.37, 0.0051, 0.0185, 0.0096, 0.176}},
    {"a100-80", "qwen3-32b", 2, 2, {24.49, 0.0943, 0.0794, 0.1341, 1.776}},
    {"h100", "qwen3-32b", 2, 2, {13.75, 0.0291, 0.0433, 0.0489, 2.144}},
    {"a100-80", "llama-3.1-70b", 4, 2, {27.71, 0.1382, 0.0554, 0.1727, 1.11}},
    {"a100-80", "llama-3.1-70b", 8, 2, {17.33, 0.1063, 0.0265, 0.1230, 0.555}},
    {"h100", "llama-3.1-70b", 4, 2, {15.61, 0.0442, 0.0289, 0.0669, 1.34}},
    {"h100", "llama-3.1-70b", 8, 2, {10.08, 0.0367, 0.0142, 0.0477, 0.67}},
    {"h200", "llama-3.1-70b", 2, 2, {20.61, 0.0589, 0.0381, 0.1049, 1.00}},
    {"h200", "llama-3.1-70b", 4, 2, {12.18, 0.0482, 0.0212, 0.0691, 0.50}},
    {"b200", "llama-3.1-70b", 2, 2, {14.36, 0.0434, 0.0248, 0.0550, 0.44}},
    {"h100", "llama-3.1-70b", 2, 1, {15.80, 0.0561, 0.0554, 0.0854, 2.68}},
    {"h100", "llama-3.1-70b", 4, 1, {10.02, 0.0532, 0.0279, 0.0607, 1.34}},
}};

// The speedup of fp8 weights out of the doubled peak. The fits of the 70B model on H100 give 1.6 (TP2) and 1.1 (TP4).
constexpr double kFp8Gain = 1.3;

// The terms that decide a step's time on one GPU of a group.
struct Load {
  double weight_bytes = 0;
  double kv_bytes_per_token = 0;
  double state_bytes = 0;  // Bytes per sequence.
  double active_parameters = 0;
  double layers = 0;
  double attention = 0;  // Layers times width of attention.
  double bandwidth_gb_per_s = 0;
  double tflops = 0;       // In the weights' type.
  double bf16_tflops = 0;  // Attention computes in bf16 whatever the weights are.
};

double KvBytesPerToken(const ModelShape& shape, const StepPriorOptions& options) {
  double bytes = 0;
  for (const LayerGroup& group : shape.groups) {
    const double seen = group.window ? std::min(1.0, group.window->AsDouble() / kReferenceContext.AsDouble()) : 1.0;
    bytes += seen * group.layers * BytesPerTokenAndLayer(group, options.cache_dtype, options.tensor_parallel);
  }
  return bytes;
}

double StateBytes(const ModelShape& shape, int tensor_parallel) {
  double bytes = 0;
  for (const LayerGroup& group : shape.groups) bytes += group.layers * StateBytesPerLayer(group, tensor_parallel);
  return bytes;
}

int LayersOf(const ModelShape& shape) {
  if (shape.layers > 0) return shape.layers;
  int layers = 0;
  for (const LayerGroup& group : shape.groups) layers += std::max(0, group.layers);
  return layers > 0 ? layers : 32;
}

// Width grows with depth: parameters go with the cube of the layers, through the 8B model's 32.
double ParametersOf(const ModelShape& shape) {
  if (shape.parameters > 0) return shape.parameters;
  return 8.03e9 * std::pow(LayersOf(shape) / 32.0, 3);
}

double ActiveParametersOf(const ModelShape& shape) {
  const double all = ParametersOf(shape);
  return shape.active_parameters > 0 ? std::min(shape.active_parameters, all) : all;
}

// The width of a dense transformer with 12 width^2 parameters per layer, where it is not known.
double AttentionWidthOf(const ModelShape& shape) {
  if (shape.attention_width > 0) return shape.attention_width;
  return std::sqrt(ActiveParametersOf(shape) / (12.0 * LayersOf(shape)));
}

// The part of a reference prompt that a layer attends to. Recurrent layers attend to nothing, windowed ones to their
// window. Sparse MLA, which alone has bytes for an indexer, attends to the tokens that this picks.
double AttendedPart(const LayerGroup& group) {
  constexpr double kSparseTokens = 2048;
  const double whole = kReferencePrompt.AsDouble();
  if (group.kind == LayerGroup::Kind::kRecurrent) return 0;
  if (group.kind == LayerGroup::Kind::kLatent && group.extra_bytes > 0) return kSparseTokens / whole;
  return group.window ? std::min(1.0, group.window->AsDouble() / whole) : 1;
}

double AttentionWork(const ModelShape& shape, int tensor_parallel) {
  double layers = shape.groups.empty() ? LayersOf(shape) : 0;
  for (const LayerGroup& group : shape.groups) layers += AttendedPart(group) * std::max(0, group.layers);
  return layers * AttentionWidthOf(shape) / tensor_parallel;
}

StepPriorOptions Sane(StepPriorOptions options) {
  options.tensor_parallel = std::max(1, options.tensor_parallel);
  if (!(options.bytes_per_parameter > 0)) options.bytes_per_parameter = 2;
  return options;
}

Load LoadOf(const GpuKind& gpu, const ModelShape& shape, const StepPriorOptions& options) {
  const double ranks = options.tensor_parallel;
  Load load;
  load.weight_bytes = ParametersOf(shape) * options.bytes_per_parameter / ranks;
  load.kv_bytes_per_token = KvBytesPerToken(shape, options);
  load.state_bytes = StateBytes(shape, options.tensor_parallel);
  load.active_parameters = ActiveParametersOf(shape) / ranks;
  load.layers = LayersOf(shape);
  load.attention = AttentionWork(shape, options.tensor_parallel);
  load.bf16_tflops = gpu.bf16_tflops;
  load.bandwidth_gb_per_s = gpu.bandwidth_gb_per_s;
  load.tflops = gpu.bf16_tflops * (options.bytes_per_parameter <= 1 && gpu.fp8_tflops > 0 ? kFp8Gain : 1);
  return load;
}

StepPriorOptions OptionsOf(const Fit& fit) { return {fit.tensor_parallel, fit.bytes_per_parameter, CacheDtype::kBf16}; }
const ModelShape& ShapeOf(const Fit& fit) { return *FindBuiltinShape(fit.shape); }
const GpuKind& GpuOf(const Fit& fit) { return *FindGpuKind(fit.gpu); }

bool Close(double a, double b) { return std::abs(a - b) <= 0.02 * b; }

bool Applies(const Fit& fit, const GpuKind& gpu, const ModelShape& shape, const StepPriorOptions& options) {
  const GpuKind& fitted = GpuOf(fit);
  return gpu.name == fitted.name && gpu.bandwidth_gb_per_s == fitted.bandwidth_gb_per_s &&
         gpu.bf16_tflops == fitted.bf16_tflops && options.tensor_parallel == fit.tensor_parallel &&
         options.bytes_per_parameter == fit.bytes_per_parameter && LayersOf(shape) == LayersOf(ShapeOf(fit)) &&
         KvBytesPerToken(shape, options) == KvBytesPerToken(ShapeOf(fit), OptionsOf(fit)) &&
         Close(ParametersOf(shape), ShapeOf(fit).parameters) &&
         Close(ActiveParametersOf(shape), ShapeOf(fit).active_parameters);
}

double LogRatio(double a, double b) { return a > 0 && b > 0 ? std::abs(std::log(a / b)) : 0; }

// A different GPU outweighs every difference between models.
double Distance(const Fit& fit, const GpuKind& gpu, const ModelShape& shape, const StepPriorOptions& options) {
  const Load from = LoadOf(GpuOf(fit), ShapeOf(fit), OptionsOf(fit));
  const Load to = LoadOf(gpu, shape, options);
  double distance = LogRatio(to.weight_bytes, from.weight_bytes);
  if (fit.tensor_parallel != options.tensor_parallel) distance += 0.3;
  if (fit.bytes_per_parameter != options.bytes_per_parameter) distance += 0.3;
  if (gpu.name != fit.gpu) distance += 100 + 2 * LogRatio(to.bandwidth_gb_per_s, from.bandwidth_gb_per_s);
  return distance;
}

// Milliseconds to move bytes at a rate.
double MoveMs(double bytes, double gb_per_s) { return bytes / (gb_per_s * 1e6); }

StepCoefficients Scale(const Fit& fit, Load to) {
  const Load from = LoadOf(GpuOf(fit), ShapeOf(fit), OptionsOf(fit));
  if (!(to.bandwidth_gb_per_s > 0)) to.bandwidth_gb_per_s = from.bandwidth_gb_per_s;
  if (!(to.tflops > 0)) to.tflops = from.tflops;
  if (!(to.bf16_tflops > 0)) to.bf16_tflops = from.bf16_tflops;
  const double layers = to.layers / from.layers;
  const StepCoefficients& c = fit.coefficients;
  // The rest of `a` beside the weight read is launches and all-reduces: it goes with the layers.
  const double floor = std::max(0.0, c.a - MoveMs(from.weight_bytes, from.bandwidth_gb_per_s));
  StepCoefficients scaled;
  scaled.a = floor * layers + MoveMs(to.weight_bytes, to.bandwidth_gb_per_s);
  // Work per sequence follows compute, as the fits of one model on five GPUs do. A state is read and written back.
  scaled.b = c.b * layers * from.tflops / to.tflops + 2 * MoveMs(to.state_bytes, to.bandwidth_gb_per_s);
  scaled.c = c.c * to.kv_bytes_per_token / from.kv_bytes_per_token * from.bandwidth_gb_per_s / to.bandwidth_gb_per_s;
  scaled.d = c.d * to.active_parameters / from.active_parameters * from.tflops / to.tflops;
  scaled.e = c.e * to.attention / from.attention * from.bf16_tflops / to.bf16_tflops;
  return scaled;
}

// The fit for a shape that it applies to. Such shapes may differ in the width of attention only.
StepCoefficients Applied(const Fit& fit, const ModelShape& shape, const StepPriorOptions& options) {
  StepCoefficients applied = fit.coefficients;
  const double fitted = AttentionWork(ShapeOf(fit), fit.tensor_parallel);
  applied.e *= AttentionWork(shape, options.tensor_parallel) / fitted;
  return applied;
}

GpuKind Gpu(const char* name, int64_t gigabytes, double bandwidth, double bf16, double fp8) {
  return {name, Bytes(gigabytes * 1'000'000'000), bandwidth, bf16, fp8};
}

}  // namespace

const std::vector<GpuKind>& GpuKinds() {
  static const auto& kinds = *new std::vector<GpuKind>{
      Gpu("a10", 24, 600, 125, 0),       Gpu("l4", 24, 300, 121, 242),       Gpu("l40s", 48, 864, 362, 733),
      Gpu("a100-40", 40, 1555, 312, 0),  Gpu("a100-80", 80, 2039, 312, 0),   Gpu("h100", 80, 3350, 989, 1979),
      Gpu("h200", 141, 4800, 989, 1979), Gpu("b200", 180, 7700, 2250, 4500), Gpu("mi300x", 192, 5300, 1307, 2615),
  };
  return kinds;
}

const GpuKind* FindGpuKind(absl::string_view name) {
  std::string key = absl::AsciiStrToLower(absl::StripAsciiWhitespace(name));
  absl::StrReplaceAll({{" ", "-"}, {"_", "-"}}, &key);
  absl::StrReplaceAll({{"nvidia-", ""},
                       {"amd-", ""},
                       {"instinct-", ""},
                       {"tesla-", ""},
                       {"-sxm4", ""},
                       {"-sxm5", ""},
                       {"-sxm", ""},
                       {"80gb", "80"},
                       {"40gb", "40"}},
                      &key);
  if (key == "a100") key = "a100-80";
  for (const GpuKind& kind : GpuKinds()) {
    if (kind.name == key) return &kind;
  }
  return nullptr;
}

StepCoefficients StepPrior(const GpuKind& gpu, const ModelShape& shape, const StepPriorOptions& given) {
  const StepPriorOptions options = Sane(given);
  const Fit* nearest = &kFits.front();
  for (const Fit& fit : kFits) {
    if (Applies(fit, gpu, shape, options)) return Applied(fit, shape, options);
    if (Distance(fit, gpu, shape, options) < Distance(*nearest, gpu, shape, options)) nearest = &fit;
  }
  return Scale(*nearest, LoadOf(gpu, shape, options));
}

}  // namespace penstock
