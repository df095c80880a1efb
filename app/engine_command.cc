// `penstock engine`: simulated engines as a process of their own.
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "app/commands.h"
#include "app/load_config.h"
#include "app/process.h"
#include "backends/simulated/fleet/fleet.h"
#include "config/config.h"
#include "config/text/findings.h"
#include "config/text/units_text.h"
#include "kvmodel/model_shape.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {
namespace {

using simulated::SimulatedFleet;

constexpr char kSeeList[] = "; penstock engine --list-models names all";

std::vector<absl::string_view> KindNames() {
  std::vector<absl::string_view> names;
  for (const GpuKind& kind : GpuKinds()) names.push_back(kind.name);
  return names;
}

std::vector<absl::string_view> ShapeNames() {
  std::vector<absl::string_view> names;
  for (const ModelShape& shape : BuiltinShapes()) names.push_back(shape.name);
  return names;
}

int ListModels() {
  absl::PrintF("%-28s %12s %9s %14s\n", "model", "parameters", "context", "KV per token");
  for (const ModelShape& shape : BuiltinShapes()) {
    double bytes = 0;
    for (const LayerGroup& group : shape.groups)
      bytes += group.layers * BytesPerTokenAndLayer(group, CacheDtype::kBf16);
    absl::PrintF("%-28s %11.2fB %9d %11.1f kB\n", shape.name, shape.parameters / 1e9, shape.max_context.value(),
                 bytes / 1e3);
  }
  absl::PrintF("\n%-28s %12s %14s\n", "GPU", "memory", "bandwidth");
  for (const GpuKind& kind : GpuKinds()) {
    absl::PrintF("%-28s %12s %9.0f GB/s\n", kind.name, FormatSize(kind.memory), kind.bandwidth_gb_per_s);
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

// The flags of a single engine as a fleet of one.
absl::StatusOr<Config> ConfigOf(const EngineOptions& options) {
  const GpuKind* kind = FindGpuKind(absl::string_view(options.gpu));
  if (kind == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--gpu: unknown kind ", options.gpu, Suggestion(options.gpu, KindNames()), kSeeList));
  }
  if (FindBuiltinShape(absl::string_view(options.model)) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("--model: no built-in shape is called ", options.model,
                                                   Suggestion(options.model, ShapeNames()), kSeeList));
  }
  GpuConfig gpu;
  gpu.id = "gpu0";
  gpu.kind = *kind;
  ReplicaConfig replica;
  replica.id = options.listen;
  replica.url = absl::StrCat("http://", options.listen);
  replica.gpus = {gpu.id};
  replica.model = options.model;
  replica.kv_tokens = options.kv_tokens;
  replica.kv_memory = options.kv_memory;
  SimulatedConfig& simulated = replica.simulated.emplace();
  simulated.max_seqs = options.max_seqs;
  if (options.max_batched_tokens) simulated.max_batched_tokens = *options.max_batched_tokens;
  simulated.max_model_len = options.max_model_len;
  simulated.overflow_error = options.overflow_error;
  simulated.time_scale = options.time_scale;
  simulated.seed = options.seed;
  simulated.natural = options.natural;
  Config config;
  config.gpus = {std::move(gpu)};
  config.replicas = {std::move(replica)};
  return config;
}

}  // namespace

int RunEngine(const EngineOptions& options) {
  if (options.list_models) return ListModels();
  const sigset_t signals = BlockSignals({SIGTERM, SIGINT});
  const bool from_file = !options.config_file.empty();
  const absl::StatusOr<Config> config = from_file ? LoadCheckedConfig(options.config_file) : ConfigOf(options);
  if (!config.ok()) return Fail("engine", config.status().message());
  auto fleet = SimulatedFleet::Create(*config, SimulatedFleet::Which::kWithUrl);
  if (!fleet.ok()) return Fail("engine", fleet.status().message());
  if (const absl::Status started = (*fleet)->Start(); !started.ok()) return Fail("engine", started.message());
  for (const SimulatedFleet::Engine& engine : (*fleet)->engines()) {
    std::cerr << "engine " << engine.replica << " listening on " << engine.Url().substr(7) << " (" << engine.model
              << ", " << engine.gpu << ", " << engine.kv_tokens.value() << " KV tokens)" << '\n'
              << std::flush;
  }
  int received = 0;
  sigwait(&signals, &received);
  (*fleet)->Stop();
  return 0;
}

}  // namespace penstock
