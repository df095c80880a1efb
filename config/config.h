// The configuration, one documented struct for every command: default, unit, range and effect of each key.
//
// LoadConfig parses YAML strictly (unknown keys, missing units, ranges, duplicates, impossible fleets are errors with
// file:line:column, the key and the bound) and returns values with defaults filled in. An immutable snapshot:
// a reload makes a new one. Secrets: ${NAME} from the environment, file:PATH from a file; never printed.
#ifndef PENSTOCK_CONFIG_CONFIG_H_
#define PENSTOCK_CONFIG_CONFIG_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/policy_check.h"
#include "kvmodel/model_shape.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {

enum class GpuSharing { kTimeSlicing, kMps };

struct GpuConfig {
  std::string id;
  GpuKind kind;  // Built-in by name, or numbers; memory overridden by `memory`.
  GpuSharing sharing = GpuSharing::kTimeSlicing;
  std::optional<Bytes> elastic_kv;  // One pool of this size shared by the GPU's replicas (kvcached style).
};

struct ModelConfig {
  std::string name;
  std::optional<ModelShape> shape;  // Built-in name, path to a config.json, or numbers.
  std::vector<std::string> aliases;
  CacheDtype cache_dtype = CacheDtype::kBf16;
  double bytes_per_parameter = 2;  // Weights; 1 for fp8.
};

struct SlowdownConfig {
  double factor = 1;  // Multiplies every step.
  Duration from;
  Duration to = Duration::Infinite();
};

// The engine is dead in [from, to): what runs there is lost. Only `simulate` plays it.
struct OutageConfig {
  Duration from;
  Duration to = Duration::Infinite();
};

// The engine gives its memory back after being idle for `after`; the next request wakes it. Only `simulate` plays it.
struct SleepConfig {
  Duration after;
  Duration wake = Duration::Seconds(5);
};

// Present: the replica is simulated by Penstock.
struct SimulatedConfig {
  int max_seqs = 256;
  Tokens max_batched_tokens{2048};
  std::optional<Tokens> max_model_len;
  bool overflow_error = false;  // llama-server's shared pool instead of preemption.
  SlowdownConfig slowdown;
  std::optional<OutageConfig> outage;
  std::optional<SleepConfig> sleep;
  double time_scale = 1;
  uint64_t seed = 1;
};

// A PEM file, read with the configuration.
struct PemFile {
  std::string path;  // Empty: none.
  std::string text;
  bool operator==(const PemFile&) const = default;
};

// TLS on a listener: 1.2 and newer.
struct ListenTlsConfig {
  PemFile certificate;  // With its chain.
  PemFile key;
  PemFile client_ca;  // Given: clients need a certificate that it signed.
  bool operator==(const ListenTlsConfig&) const = default;
};

// How an https engine is verified, beyond the defaults.
struct EngineTlsConfig {
  PemFile ca;               // Default: the system's store.
  std::string server_name;  // Default: the host of the url.
  PemFile certificate;      // Shown to the engine.
  PemFile key;
  bool operator==(const EngineTlsConfig&) const = default;
};

struct ReplicaConfig {
  std::string id;                 // Default: host:port.
  std::string url;                // Empty only for simulated replicas, which then run inside serve or demo.
  std::vector<std::string> gpus;  // Ids; empty: a GPU of its own.
  std::string engine = "auto";    // auto vllm sglang llamacpp tgi ollama openai
  std::string model;              // Empty: discovered.
  std::string key;                // Sent to the engine as bearer; secret.
  std::optional<EngineTlsConfig> tls;
  std::optional<Tokens> kv_tokens;  // Overrides discovery.
  std::optional<Bytes> kv_memory;   // Overrides discovery; needs a known shape.
  std::optional<Tokens> max_context;
  std::optional<Tokens> block;
  std::optional<int> max_seqs;
  std::optional<Tokens> max_batched_tokens;
  int tensor_parallel = 1;  // Default: number of GPUs listed.
  bool drain = false;       // Nothing new is sent to it; what runs there ends by itself.
  std::optional<SimulatedConfig> simulated;
};

struct ClassConfig {
  std::string name;
  Duration ttft;
  Duration tpot;
  Duration queue;
  bool is_default = false;
  bool evictable = false;
  bool refuse_late = false;  // True for every class that the file names.
};

struct TenantConfig {
  std::string name;
  std::vector<std::string> keys;  // SHA-256 digests (KeyDigest): the keys themselves are not kept.
  double weight = 1;
  std::string max_class;                     // Empty: any.
  std::optional<int64_t> tokens_per_minute;  // Prompt and output; a minute's worth may come at once.
  std::optional<int64_t> max_concurrent;     // Requests waiting or running.
};

struct TraceConfig {
  std::map<std::string, std::string> models;  // Name in the trace file to model of the fleet; "" for unnamed rows.
};

struct LimitsConfig {
  Bytes max_body{64LL << 20};    // 413 beyond.
  Bytes max_header{64LL << 10};  // 431 beyond.
  int max_connections = 65'536;
  Bytes max_body_memory{
      4LL << 30};  // Of all request bodies over 16 KiB, from their reading to their answer; 503 beyond.
  int64_t max_queued_requests = 65'536;
  Bytes max_queued_bytes{1LL << 30};
  // Of an engine's whole answer, or of the stream that one is put together from; 502 beyond. Streams that are passed on
  // have no end.
  Bytes max_answer{256LL << 20};
  Duration header_timeout = Duration::Seconds(10);  // For a whole request head.
  Duration body_timeout = Duration::Seconds(60);    // Between bytes of a body.
  Duration idle_timeout = Duration::Seconds(75);    // Keep-alive.
  Duration write_timeout = Duration::Seconds(60);   // A client that takes nothing for this long is gone.
  Duration connect_timeout = Duration::Seconds(3);
  Duration first_byte_timeout = Duration::Seconds(600);
  Duration gap_timeout = Duration::Seconds(120);      // Between bytes of an engine's stream.
  Duration answer_timeout = Duration::Seconds(3600);  // An answer, all attempts at it together, from its first forward.
  // Text of streamed answers kept to continue them on another engine should theirs fail: of one answer, and of all. An
  // answer beyond them is served all the same, but ends with an error if its engine fails.
  Bytes max_kept_text{256LL << 10};
  Bytes max_kept_text_total{256LL << 20};
  Duration keepalive_after = Duration::Seconds(10);  // Comment lines to a waiting stream.
  Duration drain_timeout = Duration::Seconds(60);    // After SIGTERM.
};

struct PollConfig {
  Duration interval = Duration::Milliseconds(250);
};

struct LogConfig {
  bool all_decisions = false;  // Default: refusals and errors only.
  std::string path;            // Default: stderr.
};

struct Config {
  std::string file;                  // Where it came from; empty for --replica.
  std::vector<std::string> sources;  // Every file that was read for it, `file` first.
  std::string listen = "127.0.0.1:8080";
  std::string admin_listen;                  // Empty: metrics and health are on `listen`.
  std::optional<ListenTlsConfig> tls;        // For clients on `listen`.
  std::optional<ListenTlsConfig> admin_tls;  // On `admin_listen`; left out: in the clear.
  int threads = 0;                           // 0: one per core.
  std::string policy = "penstock";
  std::vector<GpuConfig> gpus;
  std::vector<ModelConfig> models;
  std::vector<ReplicaConfig> replicas;
  std::vector<ClassConfig> classes;  // Interactive, standard, background and further named ones, in that order.
  std::vector<TenantConfig> tenants;
  std::string tenant_header;  // Names the tenant when no keys are configured; empty: the API key's hash.
  std::string state_path;
  TraceConfig trace;
  LimitsConfig limits;
  PollConfig poll;
  LogConfig log;
};

// What a command needs of a file.
struct LoadOptions {
  bool need_replicas = true;
  PolicyCheck policies = {};
};

// Parses and checks. Errors are one line per finding: "file:line:column: key: what is wrong and the bound".
absl::StatusOr<Config> LoadConfigFile(const std::string& path, const LoadOptions& options = {});
absl::StatusOr<Config> ParseConfig(absl::string_view yaml, const std::string& file, const LoadOptions& options = {});
// The configuration of `serve --listen A --replica URL...`.
absl::StatusOr<Config> ConfigFromUrls(const std::string& listen, const std::vector<std::string>& urls);

// The effective configuration as YAML that ParseConfig accepts, secrets replaced by "***".
std::string PrintConfig(const Config& config);
// Findings that do not stop a start (reserves, unused entries).
std::vector<std::string> Warnings(const Config& config);
// The keys whose new values a running router cannot take: they need a restart. `running` is what it was started with.
std::vector<std::string> KeysThatNeedRestart(const Config& running, const Config& fresh);

// Hugging Face config.json to a shape. InvalidArgument names the missing field.
absl::StatusOr<ModelShape> ShapeFromHuggingFace(absl::string_view json, absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_CONFIG_H_
