#include "config/keys.h"

namespace penstock {

const std::vector<Section>& Sections() {
  static const std::vector<Section> sections = {
      {"root",
       {"listen", "admin_listen", "tls", "admin_tls", "threads", "policy", "gpus", "models", "replicas", "classes",
        "tenants", "tenant_header", "state", "trace", "limits", "poll", "log"}},
      {"gpu", {"id", "kind", "memory", "sharing", "elastic_kv"}},
      {"gpu_kind", {"name", "memory", "bandwidth", "bf16_tflops", "fp8_tflops"}},
      {"model", {"name", "shape", "aliases", "cache_dtype", "bytes_per_parameter"}},
      {"shape",
       {"layers", "kv_heads", "head_dim", "value_dim", "latent_dim", "window", "window_layers", "groups", "parameters",
        "active_parameters", "max_context"}},
      {"layer_group",
       {"kind", "layers", "kv_heads", "key_dim", "value_dim", "latent_dim", "window", "extra_bytes", "conv_elements",
        "state_elements", "state_bytes"}},
      {"replica",
       {"id", "url", "gpus", "engine", "model", "key", "tls", "kv_tokens", "kv_memory", "max_context", "block",
        "max_seqs", "max_batched_tokens", "tensor_parallel", "drain", "simulated"}},
      {"engine_tls", {"ca", "server_name", "certificate", "key"}},
      {"listen_tls", {"certificate", "key", "client_ca"}},
      {"simulated",
       {"max_seqs", "max_batched_tokens", "max_model_len", "overflow", "slowdown", "from", "to", "down_from", "down_to",
        "sleep_after", "wake", "time_scale", "seed"}},
      {"classes", {}},
      {"class", {"ttft", "tpot", "queue", "default", "evictable", "refuse_late"}},
      {"tenant", {"name", "keys", "weight", "max_class", "tokens_per_minute", "max_concurrent"}},
      {"state", {"path"}},
      {"trace", {"models"}},
      {"trace_models", {}},
      {"limits",
       {"max_body", "max_header", "max_connections", "max_body_memory", "max_queued_requests", "max_queued_bytes",
        "max_answer", "header_timeout", "body_timeout", "idle_timeout", "write_timeout", "connect_timeout",
        "first_byte_timeout", "gap_timeout", "answer_timeout", "max_kept_text", "max_kept_text_total",
        "keepalive_after", "drain_timeout"}},
      {"poll", {"interval"}},
      {"log", {"all_decisions", "path"}},
  };
  return sections;
}

const Section& SectionOf(SectionId id) { return Sections()[static_cast<size_t>(id)]; }

}  // namespace penstock
