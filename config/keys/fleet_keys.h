// The keys of GPUs, models and replicas.
#ifndef PENSTOCK_CONFIG_KEYS_FLEET_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_FLEET_KEYS_H_

#include "config/keys/key.h"
#include "config/keys/names.h"
#include "config/keys/ranges.h"
#include "config/values/config_values.h"

namespace penstock {

inline SectionDoc DocOf(const GpuConfig&) { return {"gpu", "One memory: a device or one MIG slice."}; }

template <Of<GpuConfig> Section, class Visitor>
void VisitFields(Section& gpu, Visitor& visit) {
  visit({"id", "Name of the GPU or MIG slice, as node1/gpu0.", kRequired}, gpu.id, NameForm{});
  visit({"kind", "A built-in kind, or the numbers of another.", kRequired}, gpu.kind, KindForm{});
  visit({"memory", "Memory of this GPU. Left out: the memory of the kind, or of its slice."}, gpu.kind,
        KindMemoryForm{kDeviceMemory});
  visit({"slice", "MIG profile, as 3g.40gb: this GPU is that part of a device of `kind`. Left out: the whole device.",
         kUnlessZero},
        gpu.slice, FilledTextForm{});
  visit({"cores", "Part of the device's time that a HAMi limit leaves; 0.3 for nvidia.com/gpucores 30."}, gpu.cores,
        NumberForm{0.01, 1});
  visit({"sharing", "How the replicas of one GPU share it: this decides how much they slow each other."}, gpu.sharing,
        ChoiceForm{kSharingNames});
  visit({"elastic_kv", "Size of one KV pool that all replicas of this GPU share (kvcached)."}, gpu.elastic_kv,
        kDeviceMemory);
  visit({"elastic",
         "read: the router follows the limits in the segments of the engines. manage: it also moves them as demand "
         "shifts, within elastic_kv."},
        gpu.elastic, ChoiceForm{kElasticNames});
  visit({"price",
         "Price of an hour of this GPU, in any currency; 0: not known. Where all have one, requests go where they cost "
         "least, as far as that makes nobody late."},
        gpu.price, NumberForm{0, 1e6});
  visit({"instance",
         "GPU instance of the MIG slice, as GPU_I_ID in dcgm-exporter: samples of other instances do not concern it. "
         "Left out: samples of every instance of its device do."},
        gpu.instance, CountForm{0, 127});
}

inline SectionDoc DocOf(const GpuKind&) { return {"gpu_kind", "A GPU in numbers."}; }

template <>
inline GpuKind DefaultOf<GpuKind>() {
  GpuKind kind;
  kind.name = "custom";
  return kind;
}

template <Of<GpuKind> Section, class Visitor>
void VisitFields(Section& kind, Visitor& visit) {
  visit({"name", "Name of the kind."}, kind.name, TextForm{});
  visit({"memory", "Memory of the GPU.", kRequired}, kind.memory, kDeviceMemory);
  visit({"bandwidth", "Memory bandwidth, as 2039GB/s.", kRequired}, kind.bandwidth_gb_per_s, BandwidthForm{1, 1e6});
  visit({"bf16_tflops", "Dense bf16 peak, without sparsity.", kRequired}, kind.bf16_tflops, NumberForm{0.01, 1e6});
  visit({"fp8_tflops", "Dense fp8 peak; 0: none."}, kind.fp8_tflops, NumberForm{0, 1e6});
}

inline SectionDoc DocOf(const ModelConfig&) { return {"model", "A model that replicas serve."}; }

template <Of<ModelConfig> Section, class Visitor>
void VisitFields(Section& model, Visitor& visit) {
  visit({"name", "Name that clients use.", kRequired}, model.name, NameForm{});
  visit({"shape",
         "Layers and heads of the model: a built-in name, a path to a config.json, or numbers. Left out: the built-in "
         "shape of the model's name, if there is one."},
        model.shape, ShapeForm{});
  visit({"aliases", "Further names of the same model."}, model.aliases, TextsForm{});
  visit({"cache_dtype", "Element type of the KV cache."}, model.cache_dtype, ChoiceForm{kCacheDtypeNames});
  visit({"bytes_per_parameter", "Bytes per parameter of the weights; 1 for fp8."}, model.bytes_per_parameter,
        NumberForm{0.1, 8});
  visit({"class", "Class of requests that name none and whose tenant has none. Left out: the default class."},
        model.service_class, TextForm{});
  visit(
      {"storage",
       "True: its requests read or write much on the storage of their node, as with KV cache on disk. They go to nodes "
       "with storage to spare.",
       kUnlessZero},
      model.storage, FlagForm{});
}

inline SectionDoc DocOf(const AdapterConfig&) {
  return {"adapter",
          "A LoRA adapter. Each replica of its base model loads it for waiting requests, where the engine has requests "
          "for that: vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1, and SGLang. Adapters that an engine has from its "
          "start need no entry."};
}

template <Of<AdapterConfig> Section, class Visitor>
void VisitFields(Section& adapter, Visitor& visit) {
  visit({"name", "Name that clients use.", kRequired}, adapter.name, NameForm{});
  visit({"path", "Path or name of the adapter as the engine reads it.", kRequired}, adapter.path, FilledTextForm{});
  visit({"model", "Its base model, or an alias of it.", kRequired}, adapter.model, NameForm{});
  visit({"load",
         "Time that loading is expected to take; the router learns the true one. A simulated engine takes so long."},
        adapter.load, kSleepTime);
  visit({"timeout", "Time after which a load that has not ended has failed."}, adapter.timeout, kSleepTime);
}

inline constexpr const char* kReplicaModel =
    "Name of the model. Left out: the router asks the engine. An engine that does not list it gets its requests under "
    "the first name that it lists, and the log warns.";

inline SectionDoc DocOf(const ReplicaConfig&) { return {"replica", "One model on one engine."}; }

template <Of<ReplicaConfig> Section, class Visitor>
void VisitFields(Section& replica, Visitor& visit) {
  visit({"id", "Name of the replica. Left out: host:port of its url."}, replica.id, NameForm{});
  visit({"url",
         "Address of one engine. A name with several addresses needs a replica for each. Only a simulated replica can "
         "do without; it then runs inside serve or demo."},
        replica.url, EngineUrlForm{});
  visit({"gpus", "Ids of the GPUs of the replica. Left out: a GPU of its own."}, replica.gpus, TextsForm{});
  visit({"engine", "Kind of engine; auto: the router finds out."}, replica.engine, ChoiceForm{kEngineNames});
  visit({"model", kReplicaModel}, replica.model, NameForm{});
  visit({"key", "Bearer key for the engine."}, replica.key, SecretForm{});
  visit({"tls", "Verification of an https engine beyond the defaults."}, replica.tls, SectionForm{true});
  visit({"kv_tokens", "Size of the KV cache in tokens; overrides discovery."}, replica.kv_tokens, kTokenCount);
  visit({"kv_memory", "Size of the KV cache on each GPU of the replica; overrides discovery."}, replica.kv_memory,
        kDeviceMemory);
  visit({"max_context", "Most tokens of prompt and output together; overrides discovery."}, replica.max_context,
        kContextTokens);
  visit({"block", "Tokens of one KV block; overrides discovery."}, replica.block, CountForm{1, 65'536});
  visit({"max_seqs", "Most sequences in one batch; overrides discovery."}, replica.max_seqs, kSequenceCount);
  visit({"max_batched_tokens", "Most tokens in one step; overrides discovery."}, replica.max_batched_tokens,
        kBatchTokens);
  visit({"tensor_parallel", "Tensor parallel ranks. Left out: the number of the replica's GPUs."},
        replica.tensor_parallel, CountForm{1, 1024});
  visit({"drain", "True: the replica gets nothing new and finishes its running requests.", kUnlessZero}, replica.drain,
        FlagForm{});
  visit({"max_adapters",
         "Most adapters of `adapters` that the engine has at a time; vLLM's --max-cpu-loras. The one that was used "
         "longest ago makes room."},
        replica.max_adapters, CountForm{1, 1024});
  visit({"resident",
         "Memory that the replica takes on each of its GPUs while it is awake. Left out: its weights and its KV "
         "cache."},
        replica.resident, kDeviceMemory);
  visit({"sleep",
         "The engine gives its memory back while nobody asks for its models, and wakes for waiting requests. Left out: "
         "it is always awake. {} takes every default."},
        replica.sleep, SectionForm{true});
  visit({"elastic", "The KV cache is in elastic memory under a limit of its own (kvcached). Left out: it has none."},
        replica.elastic, SectionForm{true});
  visit({"role",
         "prefill: it computes prompts and hands caches over to decode replicas, which answer. both: it does all."},
        replica.role, ChoiceForm{kRoleNames});
  visit({"transfer",
         "Bandwidth by which each GPU of a prefill replica hands caches over; the router learns the true time."},
        replica.transfer, BandwidthForm{0.001, 1e5});
  visit({"kv_events", "The engine publishes changes of its prefix cache (vLLM, SGLang). Left out: they are estimated."},
        replica.kv_events, SectionForm{true});
  visit({"host_cache", "The engine keeps copies of prompts in the memory of its host. Left out: it keeps none."},
        replica.host_cache, SectionForm{true});
  visit({"simulated", "Penstock simulates the engine. {} takes every default."}, replica.simulated, SectionForm{true});
}

inline SectionDoc DocOf(const EngineTlsConfig&) {
  return {"engine_tls", "Verification of an https engine or exporter."};
}

template <Of<EngineTlsConfig> Section, class Visitor>
void VisitFields(Section& tls, Visitor& visit) {
  visit({"ca", "Authorities to trust. Left out: the system's store."}, tls.ca, PemForm{});
  visit({"server_name", "Name in the engine's certificate. Left out: the host of the url."}, tls.server_name,
        TextForm{});
  visit({"certificate", "Certificate that the router shows to the engine."}, tls.certificate, PemForm{});
  visit({"key", "Private key of that certificate."}, tls.key, PemForm{});
}

inline SectionDoc DocOf(const ReplicaSleepConfig&) {
  return {"sleep", "The sleep of one replica: when it begins, how long waking takes, and how both are done."};
}

template <Of<ReplicaSleepConfig> Section, class Visitor>
void VisitFields(Section& sleep, Visitor& visit) {
  visit({"after", "Time without a request after which the replica may sleep."}, sleep.after, kSleepTime);
  visit({"wake", "Time that waking is expected to take; the router learns the true one."}, sleep.wake, kSleepTime);
  visit({"by", "auto: by the engine's own requests; command: by the commands start and stop."}, sleep.by,
        ChoiceForm{kSleepByNames});
  visit({"start",
         "Command of /bin/sh that starts the engine. The replica is awake once the engine answers. Needs by: command.",
         kUnlessZero},
        sleep.start, FilledTextForm{});
  visit({"stop",
         "Command of /bin/sh that stops the engine. The replica is asleep once it ended and the engine answers no "
         "more. Needs by: command.",
         kUnlessZero},
        sleep.stop, FilledTextForm{});
  visit({"level",
         "vLLM only. 1 keeps the weights in the memory of the host; 2 discards them, and waking reads them from disk. "
         "Left out: 1, or 2 where sleep_memory of its node has no room."},
        sleep.level, CountForm{1, 2});
  visit({"timeout",
         "Time after which a sleep or a wake that has not ended is given up. Left out: 5m, or three times wake where "
         "that is longer."},
        sleep.timeout, kSleepTime);
}

inline SectionDoc DocOf(const ReplicaElasticConfig&) {
  return {"elastic", "The limit and the use of one engine's cache in elastic memory."};
}

template <Of<ReplicaElasticConfig> Section, class Visitor>
void VisitFields(Section& elastic, Visitor& visit) {
  visit({"segment",
         "kvcached's file with limit and use: its name in /dev/shm (KVCACHED_IPC_NAME), or a path on a local disk. "
         "simulate needs no file.",
         kRequired},
        elastic.segment, FilledTextForm{});
}

inline SectionDoc DocOf(const ReplicaKvEventsConfig&) {
  return {"kv_events", "The events of one engine's prefix cache, over ZeroMQ."};
}

template <Of<ReplicaKvEventsConfig> Section, class Visitor>
void VisitFields(Section& events, Visitor& visit) {
  visit({"endpoint",
         "Address of the events, tcp://HOST:PORT. Data-parallel ranks have the ports that follow. A simulated engine "
         "publishes there.",
         kRequired},
        events.endpoint, FilledTextForm{});
  visit({"replay", "Address at which missed events are asked for. Left out: missed events are lost.", kUnlessZero},
        events.replay, FilledTextForm{});
}

inline SectionDoc DocOf(const ReplicaHostCacheConfig&) {
  return {"host_cache", "The part of one engine's prefix cache that is in the memory of its host."};
}

template <Of<ReplicaHostCacheConfig> Section, class Visitor>
void VisitFields(Section& cache, Visitor& visit) {
  visit({"memory", "Its size for all GPUs of the replica together, as vLLM's --kv-offloading-size.", kRequired},
        cache.memory, kDeviceMemory);
  visit({"bandwidth", "Bandwidth from the host to each GPU."}, cache.bandwidth, BandwidthForm{0.001, 1e5});
}

inline SectionDoc DocOf(const SimulatedConfig&) { return {"simulated", "A simulated engine."}; }

template <Of<SimulatedConfig> Section, class Visitor>
void VisitFields(Section& simulated, Visitor& visit) {
  visit({"max_seqs", "Most sequences in one batch."}, simulated.max_seqs, kSequenceCount);
  visit({"max_batched_tokens", "Most tokens in one step."}, simulated.max_batched_tokens, kBatchTokens);
  visit({"max_model_len", "Context of the engine. Left out: the smaller of the model's context and the KV tokens."},
        simulated.max_model_len, kContextTokens);
  visit({"overflow",
         "When the KV cache is full: preempt the latest request, or fail every running request (llama-server's shared "
         "pool)."},
        simulated.overflow_error, ChoiceForm{kOverflowNames});
  visit({"slowdown", "Factor on the time of every step."}, simulated.slowdown.factor, NumberForm{0.01, 1e4});
  visit({"stall", "Time for which the engine stands still in each stall_every.", kUnlessZero}, simulated.slowdown.stall,
        kAnyTime);
  visit({"stall_every", "Time from one stall to the next.", kUnlessZero}, simulated.slowdown.stall_every, kAnyTime);
  visit({"noise", "Relative standard deviation of the time of a step. One step of 1000 then takes 10 times as long."},
        simulated.noise, NumberForm{0, 2});
  visit({"from", "Start of the slowdown and the stalls.", kUnlessZero}, simulated.slowdown.from, kAnyTime);
  visit({"to", "End of both. Left out: never.", kUnlessZero}, simulated.slowdown.to, kAnyTime);
  visit({"down_from", "Time of the engine's death, in its own time since its start."}, simulated.outage,
        PartForm{&OutageConfig::from, kAnyTime});
  visit({"down_to", "Time of the engine's return. Left out: never.", kUnlessZero}, simulated.outage,
        PartForm{&OutageConfig::to, kAnyTime});
  visit({"sleep_after", "Idle time after which the engine gives its memory back by itself; the next request wakes it."},
        simulated.sleep, PartForm{&SleepConfig::after, kAnyTime});
  visit({"wake", "Time that waking takes."}, simulated.sleep, PartForm{&SleepConfig::wake, kAnyTime});
  visit({"host_time", "Time of a request in the API server, before it waits for a step.", kUnlessZero},
        simulated.host_time, kAnyTime);
  visit({"linear_prefill", "Each token of a prompt takes the same time at any position, and the router expects it.",
         kUnlessZero},
        simulated.linear_prefill, FlagForm{});
  visit({"natural",
         "Answers end by themselves, `max_tokens` only bounds them, and the model calls tools of its own choice.",
         kUnlessZero},
        simulated.natural, FlagForm{});
  visit({"ranks",
         "Data-parallel ranks behind the url. Each has a KV cache, a batch and an equal part of the replica's GPUs."},
        simulated.ranks, CountForm{1, 64});
  visit({"tokens_per_step", "Mean number of tokens of a sequence in one step, as by speculative decoding."},
        simulated.tokens_per_step, NumberForm{1, 16});
  visit({"time_scale", "Speed of the engine's clock; 10 is ten times faster."}, simulated.time_scale,
        NumberForm{0.001, 1e4});
  visit({"seed", "Seed of texts and drawn output lengths."}, simulated.seed, CountForm{0, INT64_MAX / 8});
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_FLEET_KEYS_H_
