#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/addresses.h"
#include "config/draft.h"

namespace penstock {
namespace {

constexpr CountRange kTokenRange{1, 1'000'000'000'000};
constexpr CountRange kContextRange{1, 1'000'000'000};
constexpr CountRange kSequenceRange{1, 65'536};
constexpr CountRange kBatchRange{1, 16'777'216};
constexpr SizeRange kMemoryRange{Bytes(1'000'000), Bytes(100'000'000'000'000)};
constexpr size_t kLongestName = 256;
constexpr size_t kLongestShapeFile = 4 << 20;

// Names become metric labels, headers and log fields.
void ReadName(const MapReader& reader, absl::string_view key, std::string* out) {
  if (!reader.ReadText(key, out)) return;
  if (out->empty() || out->size() > kLongestName || out->find(' ') != std::string::npos) {
    reader.Fail(key, absl::StrCat("must be 1 to ", kLongestName, " characters without spaces"));
  }
}

void ReadKindNumbers(const MapReader& gpu, GpuKind* kind) {
  const std::optional<MapReader> numbers = gpu.ReadMap("kind", SectionId::kGpuKind);
  kind->name = "custom";
  numbers->ReadText("name", &kind->name);
  for (const absl::string_view key : {"memory", "bandwidth", "bf16_tflops"}) numbers->Require(key);
  numbers->ReadSize("memory", kMemoryRange, &kind->memory);
  numbers->ReadBandwidth("bandwidth", {1, 1e6}, &kind->bandwidth_gb_per_s);
  numbers->ReadNumber("bf16_tflops", {0.01, 1e6}, &kind->bf16_tflops);
  numbers->ReadNumber("fp8_tflops", {0, 1e6}, &kind->fp8_tflops);
}

void ReadKind(const MapReader& reader, GpuKind* kind) {
  if (!reader.Require("kind", "is required: a built-in name or {memory, bandwidth, bf16_tflops}")) return;
  if (reader.IsMap("kind")) return ReadKindNumbers(reader, kind);
  std::vector<absl::string_view> names;
  for (const GpuKind& known : GpuKinds()) names.push_back(known.name);
  if (const std::optional<size_t> choice = reader.ReadChoice("kind", names)) *kind = GpuKinds()[*choice];
}

std::optional<ModelShape> ShapeFromFile(Draft& draft, const MapReader& reader, const std::string& path,
                                        const std::string& name) {
  const absl::StatusOr<std::string> json = draft.ReadNamedFile(path, kLongestShapeFile);
  absl::StatusOr<ModelShape> shape = json.ok() ? ShapeFromHuggingFace(*json, name) : json.status();
  if (shape.ok()) return *std::move(shape);
  reader.Fail("shape", shape.status().message());
  return std::nullopt;
}

void ReadShape(Draft& draft, const MapReader& reader, ModelConfig* model) {
  if (!reader.Has("shape")) {
    if (const ModelShape* builtin = FindBuiltinShape(model->name)) model->shape = *builtin;
    return;
  }
  if (reader.IsMap("shape")) {
    model->shape = ReadShapeNumbers(*reader.ReadMap("shape", SectionId::kShape), model->name);
    return;
  }
  std::string text;
  if (!reader.ReadText("shape", &text)) return;
  if (absl::EndsWith(text, ".json")) {
    model->shape = ShapeFromFile(draft, reader, text, model->name);
  } else if (const ModelShape* builtin = FindBuiltinShape(text)) {
    model->shape = *builtin;
  } else {
    std::vector<absl::string_view> names;
    for (const ModelShape& known : BuiltinShapes()) names.push_back(known.name);
    reader.Fail("shape", absl::StrCat("\"", text, "\" is neither a built-in shape", Suggestion(text, names),
                                      " nor a path that ends in .json"));
  }
}

void ReadOutageAndSleep(const MapReader& reader, SimulatedConfig* simulated) {
  const TimeRange any{Duration(), Duration::Seconds(365 * 86'400.0)};
  OutageConfig outage;
  reader.ReadTime("down_from", any, &outage.from);
  reader.ReadTime("down_to", any, &outage.to);
  if (outage.to <= outage.from) reader.Fail("down_to", "must be later than down_from");
  if (reader.Has("down_to") && !reader.Has("down_from")) reader.Fail("down_to", "ends an outage; give down_from too");
  if (reader.Has("down_from")) simulated->outage = outage;
  SleepConfig sleep;
  reader.ReadTime("sleep_after", any, &sleep.after);
  reader.ReadTime("wake", any, &sleep.wake);
  if (reader.Has("wake") && !reader.Has("sleep_after")) reader.Fail("wake", "needs sleep_after");
  if (reader.Has("sleep_after")) simulated->sleep = sleep;
}

void ReadSimulated(const MapReader& replica, std::optional<SimulatedConfig>* out) {
  const std::optional<MapReader> reader = replica.ReadMap("simulated", SectionId::kSimulated);
  if (!reader) return;
  SimulatedConfig simulated;
  reader->ReadCount("max_seqs", kSequenceRange, &simulated.max_seqs);
  reader->ReadCount("max_batched_tokens", kBatchRange, &simulated.max_batched_tokens);
  reader->ReadCount("max_model_len", kContextRange, &simulated.max_model_len);
  if (const auto overflow = reader->ReadChoice("overflow", {"preempt", "error"})) {
    simulated.overflow_error = *overflow == 1;
  }
  const TimeRange any{Duration(), Duration::Seconds(365 * 86'400.0)};
  reader->ReadNumber("slowdown", {0.01, 1e4}, &simulated.slowdown.factor);
  reader->ReadTime("from", any, &simulated.slowdown.from);
  reader->ReadTime("to", any, &simulated.slowdown.to);
  if (simulated.slowdown.to <= simulated.slowdown.from) reader->Fail("to", "must be later than from");
  if ((reader->Has("from") || reader->Has("to")) && !reader->Has("slowdown")) {
    reader->Fail(reader->Has("from") ? "from" : "to", "bounds a slowdown; give slowdown too");
  }
  ReadOutageAndSleep(*reader, &simulated);
  reader->ReadNumber("time_scale", {0.001, 1e4}, &simulated.time_scale);
  int64_t seed = 1;
  if (reader->ReadCount("seed", {0, INT64_MAX / 8}, &seed)) simulated.seed = static_cast<uint64_t>(seed);
  *out = simulated;
}

void ReadUrl(const MapReader& reader, ReplicaConfig* replica) {
  if (!reader.ReadText("url", &replica->url)) {
    if (!reader.Has("url") && !reader.Has("simulated"))
      reader.Fail("url", "is required unless the replica is simulated");
    return;
  }
  const absl::StatusOr<EngineUrl> url = ParseEngineUrl(replica->url);
  if (!url.ok()) return reader.Fail("url", url.status().message());
  if (replica->id.empty()) replica->id = url->Name();
}

ReplicaConfig ReadReplica(Draft& draft, const MapReader& reader) {
  ReplicaConfig replica;
  ReadName(reader, "id", &replica.id);
  ReadUrl(reader, &replica);
  reader.ReadTexts("gpus", &replica.gpus);
  if (const auto engine = reader.ReadChoice("engine", EngineNames()))
    replica.engine = std::string(EngineNames()[*engine]);
  ReadName(reader, "model", &replica.model);
  std::string key;
  if (reader.ReadText("key", &key)) {
    absl::StatusOr<std::string> secret = ResolveSecret(key, draft);
    if (secret.ok())
      replica.key = *std::move(secret);
    else
      reader.Fail("key", secret.status().message());
  }
  replica.tls = ReadEngineTls(draft, reader);
  if (replica.tls && !absl::StartsWithIgnoreCase(replica.url, "https://")) {
    reader.Fail("tls", "needs a url that starts with https://");
  }
  reader.ReadCount("kv_tokens", kTokenRange, &replica.kv_tokens);
  reader.ReadSize("kv_memory", kMemoryRange, &replica.kv_memory);
  reader.ReadCount("max_context", kContextRange, &replica.max_context);
  reader.ReadCount("block", CountRange{1, 65'536}, &replica.block);
  reader.ReadCount("max_seqs", kSequenceRange, &replica.max_seqs);
  reader.ReadCount("max_batched_tokens", kBatchRange, &replica.max_batched_tokens);
  replica.tensor_parallel = std::max<int>(1, static_cast<int>(replica.gpus.size()));
  reader.ReadCount("tensor_parallel", CountRange{1, 1024}, &replica.tensor_parallel);
  reader.ReadFlag("drain", &replica.drain);
  ReadSimulated(reader, &replica.simulated);
  return replica;
}

}  // namespace

const std::vector<absl::string_view>& EngineNames() {
  static const std::vector<absl::string_view> names = {"auto", "vllm", "sglang", "llamacpp", "tgi", "ollama", "openai"};
  return names;
}

const std::vector<absl::string_view>& CacheDtypeNames() {
  static const std::vector<absl::string_view> names = {"bf16", "fp16", "fp8",  "fp32", "q8_0",
                                                       "q4_0", "q5_0", "q5_1", "q4_1", "fp8_ds_mla"};
  return names;
}

void ReadGpus(Draft& draft) {
  draft.gpus = draft.root.ReadMaps("gpus", SectionId::kGpu);
  for (const MapReader& reader : draft.gpus) {
    GpuConfig gpu;
    if (reader.Require("id")) ReadName(reader, "id", &gpu.id);
    ReadKind(reader, &gpu.kind);
    reader.ReadSize("memory", kMemoryRange, &gpu.kind.memory);
    if (const auto sharing = reader.ReadChoice("sharing", {"time_slicing", "mps"})) {
      gpu.sharing = *sharing == 0 ? GpuSharing::kTimeSlicing : GpuSharing::kMps;
    }
    reader.ReadSize("elastic_kv", kMemoryRange, &gpu.elastic_kv);
    draft.config.gpus.push_back(std::move(gpu));
  }
}

void ReadModels(Draft& draft) {
  draft.models = draft.root.ReadMaps("models", SectionId::kModel);
  for (const MapReader& reader : draft.models) {
    ModelConfig model;
    if (reader.Require("name")) ReadName(reader, "name", &model.name);
    ReadShape(draft, reader, &model);
    reader.ReadTexts("aliases", &model.aliases);
    if (const auto dtype = reader.ReadChoice("cache_dtype", CacheDtypeNames())) {
      model.cache_dtype = static_cast<CacheDtype>(*dtype);
    }
    reader.ReadNumber("bytes_per_parameter", {0.1, 8}, &model.bytes_per_parameter);
    draft.config.models.push_back(std::move(model));
  }
}

void ReadReplicas(Draft& draft) {
  draft.replicas = draft.root.ReadMaps("replicas", SectionId::kReplica);
  for (const MapReader& reader : draft.replicas) draft.config.replicas.push_back(ReadReplica(draft, reader));
}

}  // namespace penstock
