#include "config/read/section_checks.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/text/addresses.h"
#include "config/values/capacity.h"
#include "config/values/gpu_slice.h"

namespace penstock {

void CheckSection(Config& config, const MapReader& map, Draft&) {
  if (config.admin_tls && !map.Has("admin_listen")) map.Fail("admin_tls", "needs admin_listen");
  if (map.Has("tenants") && config.tenants.empty()) {
    map.Fail("tenants", "must not be empty; leave it out to accept any key");
  }
  if (config.proxy_protocol && config.trusted_proxies.empty()) {
    map.Fail("proxy_protocol", "needs trusted_proxies: nobody else may name the address of a client");
  }
  const absl::StatusOr<ListenAddress> clients = ParseListen(config.listen);
  const absl::StatusOr<ListenAddress> admin = ParseListen(config.admin_listen);
  if (!clients.ok() || !admin.ok() || !Collide(*clients, *admin)) return;
  const std::string other = *clients == *admin ? "" : absl::StrCat(" ", config.listen, ", or a part of it");
  map.Fail("admin_listen",
           absl::StrCat("is the address of listen", other, "; leave it out to have both on one listener"));
}

void CheckSection(GpuConfig& gpu, const MapReader& map, Draft&) {
  if (gpu.elastic == ElasticMode::kManage && !gpu.elastic_kv) {
    map.Fail("elastic", "manage needs elastic_kv, the memory that the limits of the engines may take together");
  }
  if (gpu.slice.empty()) return;
  const GpuKind* device = FindGpuKind(gpu.kind.name);
  if (map.IsMap("kind") || device == nullptr) {
    return map.Fail("slice", "needs a built-in kind; give the numbers of the slice as kind instead");
  }
  const absl::StatusOr<SliceParts> parts = SlicePartsOf(gpu.slice, device->memory);
  if (!parts.ok()) return map.Fail("slice", parts.status().message());
  gpu.compute_part = parts->compute;
  gpu.memory_part = parts->memory;
  if (!map.Has("memory")) gpu.kind.memory = Bytes(static_cast<int64_t>(parts->memory * device->memory.AsDouble()));
}

void CheckSection(ModelConfig& model, const MapReader& map, Draft&) {
  if (!map.Has("shape")) {
    if (const ModelShape* builtin = FindBuiltinShape(model.name)) model.shape = *builtin;
  } else if (model.shape && model.shape->name.empty()) {
    model.shape->name = model.name;
  }
}

void CheckSection(ReplicaConfig& replica, const MapReader& map, Draft&) {
  if (!map.Has("url") && !map.Has("simulated")) map.Fail("url", "is required unless the replica is simulated");
  const absl::StatusOr<EngineUrl> url = ParseEngineUrl(replica.url);
  if (replica.id.empty() && url.ok()) replica.id = url->Name();
  if (replica.tls && !absl::StartsWithIgnoreCase(replica.url, "https://")) {
    map.Fail("tls", "needs a url that starts with https://");
  }
  const int ranks = RanksOf(replica);
  if (static_cast<int>(replica.gpus.size()) % ranks != 0) {
    map.Fail("simulated",
             absl::StrCat("has ", ranks, " ranks, which do not divide the ", replica.gpus.size(), " GPUs"));
  }
  if (replica.sleep && ranks > 1) map.Fail("sleep", "is for engines with one rank");
  if (!map.Has("tensor_parallel")) {
    replica.tensor_parallel = std::max<int>(1, static_cast<int>(replica.gpus.size()) / ranks);
  }
}

void CheckSection(ReplicaSleepConfig& sleep, const MapReader& map, Draft&) {
  const bool by_command = sleep.by == SleepBy::kCommand;
  for (const char* command : {"start", "stop"}) {
    if (by_command && !map.Has(command)) map.Fail(command, "is required with by: command");
    if (!by_command && map.Has(command)) map.Fail(command, "needs by: command");
  }
  if (by_command && map.Has("level")) map.Fail("level", "is a level of vLLM's own sleep; by: command has none");
  if (!map.Has("timeout")) sleep.timeout = std::max(sleep.timeout, sleep.wake * 3);
  if (sleep.timeout <= sleep.wake) map.Fail("timeout", "must be longer than wake");
}

void CheckSection(SimulatedConfig& simulated, const MapReader& map, Draft&) {
  if (simulated.slowdown.to <= simulated.slowdown.from) map.Fail("to", "must be later than from");
  if (map.Has("stall") != map.Has("stall_every")) map.Fail("stall", "needs stall_every, and stall_every needs stall");
  if (map.Has("stall") && simulated.slowdown.stall >= simulated.slowdown.stall_every) {
    map.Fail("stall", "must be shorter than stall_every");
  }
  if ((map.Has("from") || map.Has("to")) && !map.Has("slowdown") && !map.Has("stall")) {
    map.Fail(map.Has("from") ? "from" : "to", "bounds a slowdown; give slowdown too");
  }
  if (simulated.outage && simulated.outage->to <= simulated.outage->from) {
    map.Fail("down_to", "must be later than down_from");
  }
  if (map.Has("down_to") && !map.Has("down_from")) map.Fail("down_to", "ends an outage; give down_from too");
  if (map.Has("wake") && !map.Has("sleep_after")) map.Fail("wake", "needs sleep_after");
}

}  // namespace penstock
