#include <yaml-cpp/yaml.h>

#include "config/config.h"
#include "config/draft.h"
#include "config/key_digest.h"
#include "config/units_text.h"

namespace penstock {
namespace {

// Writes keys of one mapping; values are formatted so that ParseConfig reads the same value back.
class Writer {
 public:
  explicit Writer(YAML::Emitter& out) : out_(out) {}

  void Text(const char* key, const std::string& value) { out_ << YAML::Key << key << YAML::Value << value; }
  void TextIf(const char* key, const std::string& value) {
    if (!value.empty()) Text(key, value);
  }
  void Secret(const char* key, const std::string& value) {
    if (!value.empty()) Text(key, std::string(kHiddenSecret));
  }
  void Flag(const char* key, bool value) { out_ << YAML::Key << key << YAML::Value << value; }
  void Whole(const char* key, int64_t value) { out_ << YAML::Key << key << YAML::Value << value; }
  void WholeIf(const char* key, int64_t value) {
    if (value != 0) Whole(key, value);
  }
  void Number(const char* key, double value) { out_ << YAML::Key << key << YAML::Value << FormatNumber(value); }
  void NumberIf(const char* key, double value) {
    if (value != 0) Number(key, value);
  }
  void Size(const char* key, Bytes value) { out_ << YAML::Key << key << YAML::Value << FormatSize(value); }
  void Time(const char* key, Duration value) { out_ << YAML::Key << key << YAML::Value << FormatDuration(value); }
  void Texts(const char* key, const std::vector<std::string>& values) {
    if (values.empty()) return;
    out_ << YAML::Key << key << YAML::Value << YAML::Flow << values;
  }
  // A nested mapping; `body` writes its keys.
  template <class Body>
  void Map(const std::string& key, bool flow, Body body) {
    out_ << YAML::Key << key << YAML::Value;
    if (flow) out_ << YAML::Flow;
    out_ << YAML::BeginMap;
    body();
    out_ << YAML::EndMap;
  }
  template <class Items, class Body>
  void List(const char* key, const Items& items, Body body) {
    if (items.empty()) return;
    out_ << YAML::Key << key << YAML::Value << YAML::BeginSeq;
    for (const auto& item : items) {
      out_ << YAML::BeginMap;
      body(item);
      out_ << YAML::EndMap;
    }
    out_ << YAML::EndSeq;
  }

 private:
  YAML::Emitter& out_;
};

std::string Name(absl::string_view name) { return std::string(name); }

void WriteGpu(Writer& out, const GpuConfig& gpu) {
  out.Text("id", gpu.id);
  const GpuKind* builtin = FindGpuKind(gpu.kind.name);
  GpuKind as_builtin = gpu.kind;
  if (builtin) as_builtin.memory = builtin->memory;
  if (builtin && *builtin == as_builtin) {
    out.Text("kind", gpu.kind.name);
    out.Size("memory", gpu.kind.memory);
  } else {
    out.Map("kind", true, [&] {
      out.Text("name", gpu.kind.name);
      out.Size("memory", gpu.kind.memory);
      out.Text("bandwidth", FormatNumber(gpu.kind.bandwidth_gb_per_s) + "GB/s");
      out.Number("bf16_tflops", gpu.kind.bf16_tflops);
      out.Number("fp8_tflops", gpu.kind.fp8_tflops);
    });
  }
  out.Text("sharing", gpu.sharing == GpuSharing::kMps ? "mps" : "time_slicing");
  if (gpu.elastic_kv) out.Size("elastic_kv", *gpu.elastic_kv);
}

void WriteGroup(Writer& out, const LayerGroup& group) {
  static constexpr const char* kKinds[] = {"attention", "latent", "recurrent"};
  out.Text("kind", kKinds[static_cast<size_t>(group.kind)]);
  out.Whole("layers", group.layers);
  out.WholeIf("kv_heads", group.kv_heads);
  out.WholeIf("key_dim", group.key_dim);
  out.WholeIf("value_dim", group.value_dim);
  out.WholeIf("latent_dim", group.latent_dim);
  if (group.window) out.Whole("window", group.window->value());
  out.NumberIf("extra_bytes", group.extra_bytes);
  out.NumberIf("conv_elements", group.conv_elements);
  out.NumberIf("state_elements", group.state_elements);
  if (group.kind == LayerGroup::Kind::kRecurrent) out.Number("state_bytes", group.state_bytes);
}

void WriteShape(Writer& out, const ModelShape& shape) {
  const ModelShape* builtin = FindBuiltinShape(shape.name);
  if (builtin && *builtin == shape) return out.Text("shape", shape.name);
  out.Map("shape", false, [&] {
    out.Whole("layers", shape.layers);
    out.NumberIf("parameters", shape.parameters);
    out.NumberIf("active_parameters", shape.active_parameters);
    out.WholeIf("max_context", shape.max_context.value());
    out.List("groups", shape.groups, [&](const LayerGroup& group) { WriteGroup(out, group); });
  });
}

void WriteModel(Writer& out, const ModelConfig& model) {
  out.Text("name", model.name);
  if (model.shape) WriteShape(out, *model.shape);
  out.Texts("aliases", model.aliases);
  out.Text("cache_dtype", Name(CacheDtypeNames()[static_cast<size_t>(model.cache_dtype)]));
  out.Number("bytes_per_parameter", model.bytes_per_parameter);
}

void WriteSimulated(Writer& out, const SimulatedConfig& simulated) {
  out.Map("simulated", true, [&] {
    out.Whole("max_seqs", simulated.max_seqs);
    out.Whole("max_batched_tokens", simulated.max_batched_tokens.value());
    if (simulated.max_model_len) out.Whole("max_model_len", simulated.max_model_len->value());
    out.Text("overflow", simulated.overflow_error ? "error" : "preempt");
    out.Number("slowdown", simulated.slowdown.factor);
    if (simulated.slowdown.from != Duration()) out.Time("from", simulated.slowdown.from);
    if (simulated.slowdown.to != Duration::Infinite()) out.Time("to", simulated.slowdown.to);
    if (simulated.outage) {
      out.Time("down_from", simulated.outage->from);
      if (simulated.outage->to != Duration::Infinite()) out.Time("down_to", simulated.outage->to);
    }
    if (simulated.sleep) {
      out.Time("sleep_after", simulated.sleep->after);
      out.Time("wake", simulated.sleep->wake);
    }
    out.Number("time_scale", simulated.time_scale);
    out.Whole("seed", static_cast<int64_t>(simulated.seed));
  });
}

void WriteReplica(Writer& out, const ReplicaConfig& replica) {
  out.Text("id", replica.id);
  out.TextIf("url", replica.url);
  out.Texts("gpus", replica.gpus);
  out.Text("engine", replica.engine);
  out.TextIf("model", replica.model);
  out.Secret("key", replica.key);
  if (replica.tls) {
    out.Map("tls", true, [&] {
      out.TextIf("ca", replica.tls->ca.path);
      out.TextIf("server_name", replica.tls->server_name);
      out.TextIf("certificate", replica.tls->certificate.path);
      out.TextIf("key", replica.tls->key.path);
    });
  }
  if (replica.kv_tokens) out.Whole("kv_tokens", replica.kv_tokens->value());
  if (replica.kv_memory) out.Size("kv_memory", *replica.kv_memory);
  if (replica.max_context) out.Whole("max_context", replica.max_context->value());
  if (replica.block) out.Whole("block", replica.block->value());
  if (replica.max_seqs) out.Whole("max_seqs", *replica.max_seqs);
  if (replica.max_batched_tokens) out.Whole("max_batched_tokens", replica.max_batched_tokens->value());
  out.Whole("tensor_parallel", replica.tensor_parallel);
  if (replica.drain) out.Flag("drain", true);
  if (replica.simulated) WriteSimulated(out, *replica.simulated);
}

void WriteClass(Writer& out, const ClassConfig& each) {
  out.Map(each.name, true, [&] {
    out.Time("ttft", each.ttft);
    out.Time("tpot", each.tpot);
    out.Time("queue", each.queue);
    out.Flag("default", each.is_default);
    out.Flag("evictable", each.evictable);
    out.Flag("refuse_late", each.refuse_late);
  });
}

void WriteTenant(Writer& out, const TenantConfig& tenant) {
  out.Text("name", tenant.name);
  out.Texts("keys", std::vector<std::string>(tenant.keys.size(), std::string(kHiddenSecret)));
  out.Number("weight", tenant.weight);
  out.TextIf("max_class", tenant.max_class);
  if (tenant.tokens_per_minute) out.Whole("tokens_per_minute", *tenant.tokens_per_minute);
  if (tenant.max_concurrent) out.Whole("max_concurrent", *tenant.max_concurrent);
}

void WriteLimits(Writer& out, const LimitsConfig& limits) {
  out.Size("max_body", limits.max_body);
  out.Size("max_header", limits.max_header);
  out.Whole("max_connections", limits.max_connections);
  out.Whole("max_queued_requests", limits.max_queued_requests);
  out.Size("max_queued_bytes", limits.max_queued_bytes);
  out.Size("max_body_memory", limits.max_body_memory);
  out.Size("max_answer", limits.max_answer);
  out.Time("header_timeout", limits.header_timeout);
  out.Time("body_timeout", limits.body_timeout);
  out.Time("idle_timeout", limits.idle_timeout);
  out.Time("write_timeout", limits.write_timeout);
  out.Time("connect_timeout", limits.connect_timeout);
  out.Time("first_byte_timeout", limits.first_byte_timeout);
  out.Time("gap_timeout", limits.gap_timeout);
  out.Time("answer_timeout", limits.answer_timeout);
  out.Size("max_kept_text", limits.max_kept_text);
  out.Size("max_kept_text_total", limits.max_kept_text_total);
  out.Time("keepalive_after", limits.keepalive_after);
  out.Time("drain_timeout", limits.drain_timeout);
}

void WriteTrace(Writer& out, const TraceConfig& trace) {
  if (trace.models.empty()) return;
  out.Map("trace", false, [&] {
    out.Map("models", true, [&] {
      for (const auto& [name, model] : trace.models) out.Text(name.c_str(), model);
    });
  });
}

void WriteListenTls(Writer& out, const char* key, const std::optional<ListenTlsConfig>& tls) {
  if (!tls) return;
  out.Map(key, true, [&] {
    out.Text("certificate", tls->certificate.path);
    out.Text("key", tls->key.path);
    out.TextIf("client_ca", tls->client_ca.path);
  });
}

}  // namespace

std::string PrintConfig(const Config& config) {
  YAML::Emitter emitter;
  Writer out(emitter);
  emitter << YAML::BeginMap;
  out.Text("listen", config.listen);
  out.TextIf("admin_listen", config.admin_listen);
  WriteListenTls(out, "tls", config.tls);
  WriteListenTls(out, "admin_tls", config.admin_tls);
  out.Whole("threads", config.threads);
  out.Text("policy", config.policy);
  out.List("gpus", config.gpus, [&](const GpuConfig& gpu) { WriteGpu(out, gpu); });
  out.List("models", config.models, [&](const ModelConfig& model) { WriteModel(out, model); });
  out.List("replicas", config.replicas, [&](const ReplicaConfig& replica) { WriteReplica(out, replica); });
  out.Map("classes", false, [&] {
    for (const ClassConfig& each : config.classes) WriteClass(out, each);
  });
  out.List("tenants", config.tenants, [&](const TenantConfig& tenant) { WriteTenant(out, tenant); });
  out.TextIf("tenant_header", config.tenant_header);
  if (!config.state_path.empty()) out.Map("state", false, [&] { out.Text("path", config.state_path); });
  WriteTrace(out, config.trace);
  out.Map("limits", false, [&] { WriteLimits(out, config.limits); });
  out.Map("poll", false, [&] { out.Time("interval", config.poll.interval); });
  out.Map("log", false, [&] {
    out.Flag("all_decisions", config.log.all_decisions);
    out.TextIf("path", config.log.path);
  });
  emitter << YAML::EndMap;
  return std::string(emitter.c_str()) + "\n";
}

}  // namespace penstock
