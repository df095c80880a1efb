// The configuration as plain values: one struct per section, with the default of each key.
//
// Range, form and effect of each key: config/keys/, printed as docs/configuration.md. A Config is an immutable
// snapshot after it was read; a reload makes a new one. Values without threads or I/O.
#ifndef PENSTOCK_CONFIG_VALUES_CONFIG_VALUES_H_
#define PENSTOCK_CONFIG_VALUES_CONFIG_VALUES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/values/client_config.h"
#include "config/values/node_values.h"
#include "config/values/telemetry_values.h"
#include "config/values/tls_values.h"
#include "kvmodel/model_shape.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {

enum class GpuSharing { kTimeSlicing, kMps };
// kManage: the router moves the limits of the engines in elastic memory.
enum class ElasticMode { kRead, kManage };

struct GpuConfig {
  std::string id;
  GpuKind kind;             // Of the whole device, but with the memory of this GPU.
  std::string slice;        // MIG profile, as 3g.40gb; empty: the whole device.
  double cores = 1;         // Part of the device's time that a HAMi limit leaves.
  double compute_part = 1;  // Of the device, by the slice.
  double memory_part = 1;
  GpuSharing sharing = GpuSharing::kTimeSlicing;
  std::optional<Bytes> elastic_kv;
  ElasticMode elastic = ElasticMode::kRead;
  double price = 0;             // One hour costs so much; 0: not known.
  std::optional<int> instance;  // GPU instance of a MIG slice, as exporters name it.
};

struct ModelConfig {
  std::string name;
  std::optional<ModelShape> shape;  // Empty: unknown.
  std::vector<std::string> aliases;
  CacheDtype cache_dtype = CacheDtype::kBf16;
  double bytes_per_parameter = 2;
  std::string service_class;  // Requests that name none have it, unless their tenant has one; empty: the default.
  bool storage = false;       // Its requests need the storage of their node.
};

// Part of a request that an engine of a pair computes; kBoth: it is no part of a pair.
enum class ReplicaRole : uint8_t { kBoth, kPrefill, kDecode };

// A LoRA adapter that engines load when it is asked for.
struct AdapterConfig {
  std::string name;
  std::string path;                      // As the engine reads it.
  std::string model;                     // Its base.
  Duration load = Duration::Seconds(1);  // Expected; the router learns the true one.
  Duration timeout = Duration::Seconds(60);
};

struct SlowdownConfig {
  double factor = 1;
  Duration from;
  Duration to = Duration::Infinite();
  Duration stall;        // The engine stands still for so long ...
  Duration stall_every;  // ... in each such time. Zero: never.
};

// The engine is dead in [from, to): its running requests are lost.
struct OutageConfig {
  Duration from;
  Duration to = Duration::Infinite();
};

// The engine gives its memory back after being idle for `after`; the next request wakes it.
struct SleepConfig {
  Duration after;
  Duration wake = Duration::Seconds(5);
};

enum class SleepBy : uint8_t { kAuto, kCommand };

// The replica gives its memory back when it is idle, and wakes when requests wait for it.
struct ReplicaSleepConfig {
  Duration after = Duration::Seconds(60);
  Duration wake = Duration::Seconds(5);  // Expected; the router learns the true one.
  SleepBy by = SleepBy::kAuto;
  std::string start;  // Commands for the shell, with kCommand only.
  std::string stop;
  std::optional<int> level;                   // vLLM only; empty: 1, or 2 where its node has no memory left.
  Duration timeout = Duration::Seconds(300);  // For each sleep and each wake.
  bool operator==(const ReplicaSleepConfig&) const = default;
};

// The engine keeps its cache in elastic memory under a limit of its own (kvcached).
struct ReplicaElasticConfig {
  std::string segment;  // The file with its limit and use: a path, or a name in /dev/shm.
  bool operator==(const ReplicaElasticConfig&) const = default;
};

// The engine publishes what comes and goes in its prefix cache (vLLM's --kv-events-config).
struct ReplicaKvEventsConfig {
  std::string endpoint;  // tcp://HOST:PORT
  std::string replay;    // The same, for events that were missed. Empty: the engine serves none.
  bool operator==(const ReplicaKvEventsConfig&) const = default;
};

// The engine keeps copies of prompt blocks in the memory of its host (vLLM's --kv-offloading-size, SGLang's HiCache).
struct ReplicaHostCacheConfig {
  Bytes memory{0};        // All GPUs of the replica share it.
  double bandwidth = 20;  // GB/s to each of its GPUs.
  bool operator==(const ReplicaHostCacheConfig&) const = default;
};

// Penstock simulates the engine of the replica.
struct SimulatedConfig {
  int max_seqs = 256;
  Tokens max_batched_tokens{2048};
  std::optional<Tokens> max_model_len;
  bool overflow_error = false;
  SlowdownConfig slowdown;
  double noise = 0;  // Relative standard deviation of the time of a step.
  std::optional<OutageConfig> outage;
  std::optional<SleepConfig> sleep;
  Duration host_time;
  bool linear_prefill = false;
  bool natural = false;  // Answers end by themselves, and the model calls tools of its own choice.
  double time_scale = 1;
  uint64_t seed = 1;
  int ranks = 1;               // Data-parallel; each has its own cache and batch.
  double tokens_per_step = 1;  // Mean of each sequence, by speculation.
};

// TLS on a listener: 1.2 and newer.
struct ListenTlsConfig {
  PemFile certificate;
  PemFile key;
  PemFile client_ca;
  bool operator==(const ListenTlsConfig&) const = default;
};

struct ReplicaConfig {
  std::string id;
  std::string url;                // Empty only for simulated replicas inside serve or demo.
  std::vector<std::string> gpus;  // Ids.
  std::string engine = "auto";
  std::string model;  // Empty: discovered.
  std::string key;    // The secret itself.
  std::optional<EngineTlsConfig> tls;
  std::optional<Tokens> kv_tokens;
  std::optional<Bytes> kv_memory;
  std::optional<Tokens> max_context;
  std::optional<Tokens> block;
  std::optional<int> max_seqs;
  std::optional<Tokens> max_batched_tokens;
  int tensor_parallel = 1;
  bool drain = false;
  int max_adapters = 4;           // Loaded by order at a time.
  std::optional<Bytes> resident;  // On each GPU while it is awake; empty: weights and KV cache.
  std::optional<ReplicaSleepConfig> sleep;
  ReplicaRole role = ReplicaRole::kBoth;
  double transfer = 25;  // GB/s on each GPU, by which it hands caches over.
  std::optional<ReplicaElasticConfig> elastic;
  std::optional<ReplicaKvEventsConfig> kv_events;
  std::optional<ReplicaHostCacheConfig> host_cache;
  std::optional<SimulatedConfig> simulated;
};

struct ClassConfig {
  std::string name;
  Duration ttft;
  Duration tpot;
  Duration queue;
  bool is_default = false;
  bool evictable = false;
  bool refuse_late = false;
  bool parking = false;
  bool even_delivery = false;
  double share = 0.05;
  std::optional<Duration> promote_after = std::nullopt;
};

struct TenantConfig {
  std::string name;
  std::vector<std::string> keys;  // SHA-256 digests (KeyDigest), never the keys.
  double weight = 1;
  std::string service_class;  // Its requests that name none have it; empty: that of the model.
  std::string max_class;      // Empty: any.
  std::optional<int64_t> tokens_per_minute;
  std::optional<int64_t> max_concurrent;
};

// The job store: files, batches and their lines.
struct StateConfig {
  std::string path;  // Empty: the router has none.
  Bytes max_file{512LL << 20};
  Bytes max_bytes_per_tenant{100LL << 30};
  int64_t max_files_per_tenant = 10'000;
  int64_t max_open_batches_per_tenant = 100;
  std::optional<Duration> file_expiry;
  int64_t max_running_lines = 1024;
  bool operator==(const StateConfig&) const = default;
};

struct TraceConfig {
  std::map<std::string, std::string> models;   // Name in the trace file to model of the fleet.
  std::map<std::string, std::string> classes;  // Tenant in the trace file to class.
  std::map<std::string, std::string> storage;  // Tenant in the trace file to its need: none, some or heavy.
  bool operator==(const TraceConfig&) const = default;
};

struct LimitsConfig {
  Bytes max_body{64LL << 20};
  Bytes max_header{64LL << 10};
  int max_connections = 65'536;
  int max_streams = 100;
  std::optional<int64_t> max_requests_per_key;
  Bytes max_body_memory{4LL << 30};
  int64_t max_queued_requests = 65'536;
  Bytes max_queued_bytes{1LL << 30};
  Bytes max_answer{256LL << 20};
  Bytes max_answer_memory{1LL << 30};
  Duration header_timeout = Duration::Seconds(10);
  Duration body_timeout = Duration::Seconds(60);
  Duration max_body_time = Duration::Seconds(600);
  Bytes min_body_rate{4LL << 10};  // Per second.
  Duration idle_timeout = Duration::Seconds(75);
  Duration write_timeout = Duration::Seconds(60);
  Bytes min_answer_rate{1LL << 10};  // Per second.
  Duration connect_timeout = Duration::Seconds(3);
  Duration first_byte_timeout = Duration::Seconds(600);
  Duration gap_timeout = Duration::Seconds(120);
  Duration hang_after = Duration::Seconds(20);
  Duration answer_timeout = Duration::Seconds(3600);
  Bytes max_kept_text{256LL << 10};
  Bytes max_kept_text_total{256LL << 20};
  std::optional<Duration> keepalive_after;
  Duration drain_timeout = Duration::Seconds(60);
};

// The name of this machine's processes, at a unix socket, in a list of trusted proxies.
inline constexpr const char* kTrustedUnix = "unix";

struct BatchingConfig {
  bool embeddings = true;
  bool operator==(const BatchingConfig&) const = default;
};

struct PollConfig {
  Duration interval = Duration::Milliseconds(250);
};

struct Config {
  std::string file;                              // Path of the file; empty for --replica.
  std::vector<std::string> sources;              // Every file that was read, `file` first.
  std::vector<std::string> keys_without_effect;  // Paths of keys in the file that have no effect yet.

  std::string listen = "127.0.0.1:8080";
  std::string admin_listen;
  std::vector<std::string> admin_keys;  // SHA-256 digests (KeyDigest), never the keys.
  std::optional<ListenTlsConfig> tls;
  std::optional<ListenTlsConfig> admin_tls;
  std::vector<std::string> trusted_proxies;  // Ranges of addresses, and kTrustedUnix.
  bool proxy_protocol = false;
  bool http2 = true;
  int threads = 0;
  std::string policy = "penstock";
  std::vector<GpuConfig> gpus;
  std::vector<NodeConfig> nodes;
  std::vector<ModelConfig> models;
  std::vector<AdapterConfig> adapters;
  std::vector<ReplicaConfig> replicas;
  std::vector<ClassConfig> classes;  // The built-in classes, then further ones in the order of the file.
  std::vector<TenantConfig> tenants;
  std::string tenant_header;
  std::optional<std::string> fairness;  // Left out: FairnessInEffect (in_effect.h).
  std::string fairness_charge = "tokens";
  std::vector<std::string> relay_headers;
  std::vector<RouteConfig> routes;
  std::optional<CorsConfig> cors;
  CompressionConfig compression;
  RealtimeConfig realtime;
  StateConfig state;
  TraceConfig trace;
  LimitsConfig limits;
  BatchingConfig batching;
  PollConfig poll;
  LogConfig log;
  TracingConfig tracing;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_CONFIG_VALUES_H_
