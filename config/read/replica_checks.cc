#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "config/read/fleet_checks.h"
#include "config/text/addresses.h"
#include "config/text/findings.h"
#include "config/values/capacity.h"
#include "config/values/kv_event_address.h"

namespace penstock {
namespace {

// A request to such a replica would come back as the next one, without an end.
void CheckUrlOf(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  const absl::StatusOr<EngineUrl> url = ParseEngineUrl(replica.url);
  if (!url.ok()) return;
  const std::pair<absl::string_view, absl::string_view> listeners[] = {{"listen", config.listen},
                                                                       {"admin_listen", config.admin_listen}};
  for (const auto& [key, text] : listeners) {
    const absl::StatusOr<ListenAddress> listener = ParseListen(text);
    if (!listener.ok() || !Reaches(*url, *listener)) continue;
    map.Fail("url", absl::StrCat("is an address of this router, ", key, " ", text, "; give the address of an engine"));
  }
}

std::vector<absl::string_view> GpuIds(const Config& config) {
  std::vector<absl::string_view> ids;
  ids.reserve(config.gpus.size());
  for (const GpuConfig& gpu : config.gpus) ids.push_back(gpu.id);
  return ids;
}

void CheckGpusOf(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  std::set<std::string> seen;
  for (size_t i = 0; i < replica.gpus.size(); ++i) {
    const std::string& id = replica.gpus[i];
    if (!FindGpu(config, id)) {
      const std::vector<absl::string_view> known = GpuIds(config);
      map.FailAt("gpus", i,
                 absl::StrCat("unknown GPU \"", id, "\"", map.Suggest(id, known), ", known: ", KnownNames(known)));
    }
    if (!seen.insert(id).second) map.FailAt("gpus", i, absl::StrCat("lists \"", id, "\" twice"));
  }
  const int gpus = static_cast<int>(replica.gpus.size());
  if (gpus > 0 && gpus % replica.tensor_parallel != 0) {
    map.Fail("tensor_parallel", absl::StrCat(replica.tensor_parallel, " does not divide the ", gpus, " GPUs listed"));
  }
}

void CheckModelOf(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  if (replica.model.empty()) return;
  const ModelShape* shape = ShapeOfModel(config, replica.model);
  if (!config.models.empty() && !FindModel(config, replica.model) && !shape) {
    const std::vector<absl::string_view> names = ModelNames(config);
    map.Fail("model", absl::StrCat("unknown model \"", replica.model, "\"", map.Suggest(replica.model, names),
                                   "; it is neither a built-in shape nor one of models: ", absl::StrJoin(names, " ")));
    return;
  }
  if (!shape) {
    if (replica.kv_memory) {
      map.Fail("kv_memory", absl::StrCat("needs the shape of model \"", replica.model,
                                         "\"; describe it under models or give kv_tokens"));
    }
    return;
  }
  FootprintOptions options;
  options.tensor_parallel = replica.tensor_parallel;
  options.pipeline_parallel = PipelineParallel(replica);
  const absl::StatusOr<Footprint> footprint = FootprintOf(*shape, options);
  if (!footprint.ok()) map.Fail("tensor_parallel", footprint.status().message());
}

void CheckSimulated(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  if (!replica.simulated) return;
  if (replica.gpus.empty()) map.Fail("gpus", "is required for a simulated replica: its GPU gives the step times");
  if (replica.model.empty()) {
    map.Fail("model", "is required for a simulated replica");
    return;
  }
  if (!ShapeOfModel(config, replica.model)) {
    std::vector<absl::string_view> names = ModelNames(config);
    for (const ModelShape& shape : BuiltinShapes()) names.push_back(shape.name);
    map.Fail("model", absl::StrCat("a simulated replica needs a model of known shape, \"", replica.model, "\" has none",
                                   map.Suggest(replica.model, names)));
    return;
  }
  const bool gpus_known = std::all_of(replica.gpus.begin(), replica.gpus.end(),
                                      [&](const std::string& id) { return FindGpu(config, id) != nullptr; });
  if (!gpus_known || replica.gpus.empty()) return;
  const auto tokens = SimulatedKvTokens(config, replica);
  if (tokens && tokens->value() >= kUsualBlock.value()) return;
  if (replica.kv_memory || replica.kv_tokens) {
    map.Fail(replica.kv_memory ? "kv_memory" : "kv_tokens", "holds less than one block of 16 tokens; give more");
  } else {
    map.Fail("gpus", "leave no room for one block of 16 tokens beside the weights; give more memory or fewer replicas");
  }
}

void CheckSleepOf(const ReplicaConfig& replica, const MapReader& map) {
  if (!replica.sleep) return;
  const auto fail = [&](absl::string_view message) { map.Fail("sleep", message); };
  if (replica.simulated && replica.simulated->sleep) {
    fail("and simulated.sleep_after exclude each other: a simulated engine sleeps by order or by itself");
  }
  const bool vllm = replica.engine == "vllm" || replica.engine == "auto";
  if (replica.sleep->level.value_or(1) > 1 && !vllm) fail("has a level of vLLM, and the engine is another");
  if (replica.sleep->by != SleepBy::kCommand) return;
  // The engine cannot be asked while it is stopped.
  if (replica.model.empty()) map.Fail("model", "is required with sleep by: command");
  if (replica.url.empty()) fail("by: command needs a url: an engine inside the router has no process");
}

void CheckElasticOf(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  if (!replica.elastic) return;
  const std::string& segment = replica.elastic->segment;
  const auto fail = [&](absl::string_view message) { map.Fail("elastic", message); };
  if (segment.find('/') != std::string::npos && segment.front() != '/') {
    fail("segment is a name in /dev/shm, or a path from the root");
  }
  for (const ReplicaConfig& other : config.replicas) {
    if (&other < &replica && other.elastic == replica.elastic) {
      fail(absl::StrCat("has the segment of replica ", other.id, "; each engine writes its own"));
    }
  }
  const bool managed = std::any_of(replica.gpus.begin(), replica.gpus.end(), [&](const std::string& id) {
    const GpuConfig* gpu = FindGpu(config, id);
    return gpu != nullptr && gpu->elastic == ElasticMode::kManage;
  });
  if (managed && replica.gpus.size() > 1) fail("a limit on several GPUs cannot be managed; use elastic: read on them");
}

void CheckKvEventsOf(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  if (!replica.kv_events) return;
  const ReplicaKvEventsConfig& events = *replica.kv_events;
  const auto fail = [&](absl::string_view message) { map.Fail("kv_events", message); };
  const auto check = [&](absl::string_view key, absl::string_view address) {
    const bool tcp = absl::ConsumePrefix(&address, kKvEventScheme);
    const absl::StatusOr<HostPort> parsed = ParseHostPort(address);
    if (tcp && parsed.ok() && parsed->port != 0 && !parsed->host.empty() && parsed->host != "*") return;
    fail(absl::StrCat(key, " must be tcp://HOST:PORT, the address at which the router reaches the engine"));
  };
  check("endpoint", events.endpoint);
  if (!events.replay.empty()) check("replay", events.replay);
  if (events.replay == events.endpoint) fail("has one address for endpoint and replay; they are two sockets");
  for (const ReplicaConfig& other : config.replicas) {
    if (&other < &replica && other.kv_events && other.kv_events->endpoint == events.endpoint) {
      fail(absl::StrCat("has the endpoint of replica ", other.id, "; each engine has its own events"));
    }
  }
}

void CheckHostCacheOf(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  if (!replica.host_cache) return;
  const bool elastic = std::any_of(replica.gpus.begin(), replica.gpus.end(), [&](const std::string& id) {
    const GpuConfig* gpu = FindGpu(config, id);
    return gpu != nullptr && gpu->elastic_kv;
  });
  const bool keeps_none = elastic || (replica.simulated && replica.simulated->overflow_error);
  if (keeps_none) map.Fail("host_cache", "needs an engine that keeps prompts on its GPU; this one keeps none");
  if (!replica.model.empty() && ShapeOfModel(config, replica.model) == nullptr) {
    map.Fail("host_cache", "needs the shape of the model: nobody knows how many tokens it holds");
  }
}

}  // namespace

std::vector<absl::string_view> ModelNames(const Config& config) {
  std::vector<absl::string_view> names;
  for (const ModelConfig& model : config.models) {
    names.push_back(model.name);
    names.insert(names.end(), model.aliases.begin(), model.aliases.end());
  }
  return names;
}

void CheckReplica(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  CheckUrlOf(config, replica, map);
  CheckGpusOf(config, replica, map);
  CheckModelOf(config, replica, map);
  CheckSimulated(config, replica, map);
  CheckSleepOf(replica, map);
  CheckElasticOf(config, replica, map);
  CheckRole(config, replica, map);
  CheckKvEventsOf(config, replica, map);
  CheckHostCacheOf(config, replica, map);
  if (replica.kv_tokens && replica.kv_memory) map.Fail("kv_memory", "give kv_memory or kv_tokens, not both");
}

}  // namespace penstock
