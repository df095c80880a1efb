// The keys of listeners, tenants and limits, and of the whole configuration.
#ifndef PENSTOCK_CONFIG_KEYS_SERVICE_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_SERVICE_KEYS_H_

#include "config/keys/class_keys.h"
#include "config/keys/client_keys.h"
#include "config/keys/key.h"
#include "config/keys/node_keys.h"
#include "config/keys/state_keys.h"
#include "config/keys/telemetry_keys.h"
#include "config/values/config_values.h"

namespace penstock {

inline SectionDoc DocOf(const ListenTlsConfig&) { return {"listen_tls", "TLS 1.2 and newer on a listener."}; }

template <Of<ListenTlsConfig> Section, class Visitor>
void VisitFields(Section& tls, Visitor& visit) {
  visit({"certificate", "Certificate of the listener: the leaf first, then its chain.", kRequired}, tls.certificate,
        PemForm{});
  visit({"key", "Private key of that certificate.", kRequired}, tls.key, PemForm{});
  visit({"client_ca", "Authorities of clients. Given: a client needs a certificate that one of them signed."},
        tls.client_ca, PemForm{});
}

inline SectionDoc DocOf(const TenantConfig&) { return {"tenant", "A client with keys and limits of its own."}; }

template <Of<TenantConfig> Section, class Visitor>
void VisitFields(Section& tenant, Visitor& visit) {
  visit(
      {"name", "Name of the tenant in metrics and logs; not none or other, which are words of the metrics.", kRequired},
      tenant.name, FilledTextForm{});
  visit({"keys", "API keys of the tenant.", kRequired}, tenant.keys, ApiKeysForm{});
  visit(
      {"weight", "Service of the tenant while it waits, relative to others; unknown tenants have 1. Needs `fairness`."},
      tenant.weight, NumberForm{0.001, 1e6});
  visit({"class",
         "Class of the tenant's requests that name none. Left out: the class of the model, else the default class."},
        tenant.service_class, TextForm{});
  visit({"max_class", "Most urgent class that the tenant may name. Left out: any."}, tenant.max_class, TextForm{});
  visit({"tokens_per_minute",
         "Limit of prompt and output tokens; the tokens of one minute may come at once. Left out: none."},
        tenant.tokens_per_minute, CountForm{1, 1'000'000'000'000});
  visit({"max_concurrent", "Limit of requests that wait or run. Left out: none."}, tenant.max_concurrent,
        CountForm{1, 10'000'000});
}

inline SectionDoc DocOf(const TraceConfig&) { return {"trace", "Replay of trace files by simulate."}; }

template <Of<TraceConfig> Section, class Visitor>
void VisitFields(Section& trace, Visitor& visit) {
  visit({"models", "Names in a trace file to models of the fleet; \"\" stands for rows without a model."}, trace.models,
        TextMapForm{});
  visit({"classes",
         "Tenants in a trace file to classes, for rows without a class; \"\" stands for rows without a tenant."},
        trace.classes, TextMapForm{});
  visit({"storage",
         "Tenants in a trace file to their need of storage (none, some or heavy), as clients declare it with "
         "x-penstock-storage.",
         kUnlessZero},
        trace.storage, TextMapForm{});
}

inline constexpr TimeForm kTimeout{Duration::Milliseconds(1), Duration::Seconds(7 * 86'400.0)};
inline constexpr SizeForm kBodySize{Bytes(1'000), Bytes(int64_t{4} << 30)};
inline constexpr SizeForm kRate{Bytes(0), Bytes(1 << 30)};
inline constexpr SizeForm kDeliveredText{Bytes(0), Bytes(int64_t{1} << 40)};

inline SectionDoc DocOf(const LimitsConfig&) { return {"limits", "Bounds of the router."}; }

template <Of<LimitsConfig> Section, class Visitor>
void VisitLimitSizes(Section& limits, Visitor& visit) {
  visit({"max_body", "Largest body of a request; 413 beyond."}, limits.max_body, kBodySize);
  visit({"max_header", "Largest head of a request; 431 beyond. A head of 1 MiB may hold its loop for 10 ms."},
        limits.max_header, SizeForm{Bytes(1'000), Bytes(16 << 20)});
  visit({"max_connections",
         "Most open client connections. Lowered at the start to the number that the descriptor limit allows."},
        limits.max_connections, CountForm{1, 10'000'000});
  visit({"max_streams",
         "Most requests of one HTTP/2 connection at once; further ones wait at their client or are refused."},
        limits.max_streams, CountForm{1, 10'000});
  visit({"max_requests_per_key",
         "Most requests of one API key that wait, run, or are not yet with their client; 429 beyond. Left out: none."},
        limits.max_requests_per_key, CountForm{1, 10'000'000});
  visit({"max_queued_requests", "Most waiting requests; 429 beyond."}, limits.max_queued_requests,
        CountForm{0, 10'000'000});
  visit({"max_queued_bytes", "Most bytes in the bodies of waiting requests; 429 beyond."}, limits.max_queued_bytes,
        kTotalSize);
  visit({"max_body_memory",
         "Most bytes of requests in buffers over 4 KiB, until their answer; 503 beyond. One key, or one address "
         "without a key, holds no more than it leaves free. Lowered at the start to half of the process's memory. "
         "Lines of batches have an eighth as much beside it."},
        limits.max_body_memory, kTotalSize);
  visit(
      {"max_answer",
       "Largest whole answer of an engine, or stream that becomes one, or event of a stream; 502 beyond. An event has "
       "32 MiB at most. A stream that is passed on has no limit."},
      limits.max_answer, kBodySize);
  visit({"max_answer_memory",
         "Most bytes of answers in buffers over 4 KiB, from the engine to the client, or to the disk for a line of a "
         "batch. An answer takes 72 KiB at least; "
         "503 where they are not free. One that finds no more room, or is over 1 MB, goes to its client while it is "
         "read. One that the router makes of a stream cannot. "
         "Shared and lowered like max_body_memory, to an eighth of the process's memory."},
        limits.max_answer_memory, kTotalSize);
}

template <Of<LimitsConfig> Section, class Visitor>
void VisitFields(Section& limits, Visitor& visit) {
  VisitLimitSizes(limits, visit);
  visit({"header_timeout", "Longest time for a whole request head."}, limits.header_timeout, kTimeout);
  visit(
      {"body_timeout",
       "Longest pause between bytes of a request body. An engine may take so long to read one, after connect_timeout."},
      limits.body_timeout, kTimeout);
  visit({"max_body_time", "Longest time for a whole request body; 408 beyond."}, limits.max_body_time, kTimeout);
  visit(
      {"min_body_rate",
       "Bytes per second that a client has to send of a body, after `body_timeout`; 408 below. 0B sets no least rate."},
      limits.min_body_rate, kRate);
  visit({"idle_timeout", "Longest idle time of a client connection between requests."}, limits.idle_timeout, kTimeout);
  visit({"write_timeout", "A client that takes no byte for this long counts as gone."}, limits.write_timeout, kTimeout);
  visit({"min_answer_rate",
         "Bytes per second that a client has to take while the router waits for it, after `write_timeout`; a slower "
         "client counts as gone. 0B sets no least rate."},
        limits.min_answer_rate, kRate);
  visit({"connect_timeout", "Longest time to connect to an engine."}, limits.connect_timeout, kTimeout);
  visit({"first_byte_timeout", "Longest time to the first byte of an engine's answer."}, limits.first_byte_timeout,
        kTimeout);
  visit({"gap_timeout", "Longest pause between bytes of an engine's stream."}, limits.gap_timeout, kTimeout);
  visit({"hang_after",
         "Least time without a sign of work after which an engine that answers its polls is taken to hang. Four times "
         "the time that its prompts explain is added. Only engines that count their tokens, and not "
         "while one has pictures, sound or a configured path to answer. A replica with commands to start and stop "
         "is stopped when it is down for this time without having ended."},
        limits.hang_after, kTimeout);
  visit({"answer_timeout", "Longest time from the first forward of a request to the end of its answer."},
        limits.answer_timeout, kTimeout);
  visit({"max_kept_text",
         "Most text of one streamed answer that the router holds, to continue it on another engine. A longer answer "
         "ends with an error if its engine fails."},
        limits.max_kept_text, kDeliveredText);
  visit({"max_kept_text_total", "The same for all answers together; 0B continues none."}, limits.max_kept_text_total,
        kDeliveredText);
  visit({"keepalive_after",
         "Time between comment lines to a waiting stream. Left out: 10s, but the first one only after the class can no "
         "longer refuse the request for lateness."},
        limits.keepalive_after, kTimeout);
  visit({"drain_timeout", "Longest time for running requests after SIGTERM."}, limits.drain_timeout, kTimeout);
}

inline SectionDoc DocOf(const BatchingConfig&) { return {"batching", "Requests that go to an engine together."}; }

template <Of<BatchingConfig> Section, class Visitor>
void VisitFields(Section& batching, Visitor& visit) {
  visit(
      {"embeddings",
       "True: small embedding requests with equal parameters that wait for the same engine become one call to it. "
       "They wait for each other for at most 4 ms, and only while the engine has such a call already. Only requests on "
       "one thread of the router meet. The engine counts the call as a whole; each client gets a part of its usage by "
       "the estimated tokens of its inputs. The parts add up to the whole. Inputs of token ids are counted, not "
       "estimated."},
      batching.embeddings, FlagForm{});
}

inline SectionDoc DocOf(const PollConfig&) { return {"poll", "Observation of engines."}; }

template <Of<PollConfig> Section, class Visitor>
void VisitFields(Section& poll, Visitor& visit) {
  visit({"interval", "Time between two observations of an engine."}, poll.interval,
        TimeForm{Duration::Milliseconds(50), Duration::Seconds(60)});
}

inline SectionDoc DocOf(const Config&) {
  return {"root", "One form of file for all commands. Unknown keys, missing units and impossible fleets are errors."};
}

template <Of<Config> Section, class Visitor>
void VisitFleetLists(Section& config, Visitor& visit) {
  visit({"gpus", "GPUs of the fleet. Left out: one GPU per replica."}, config.gpus, ListForm{});
  visit({"nodes", "Nodes whose exporters are read, or whose memory for sleeping models is bounded. Left out: none."},
        config.nodes, ListForm{});
  visit({"models", "Models of the fleet. Left out: learned from the replicas."}, config.models, ListForm{});
  visit({"adapters", "LoRA adapters that engines load when they are asked for. Needs the policy penstock."},
        config.adapters, ListForm{});
  visit({"replicas", "Replicas of the fleet; at least one."}, config.replicas, ListForm{});
}

// The addresses of the router, and who may come.
template <Of<Config> Section, class Visitor>
void VisitListeners(Section& config, Visitor& visit) {
  visit(
      {"listen",
       "Address for clients. No host is every IPv4 interface; [::]:8080 is both families. A unix socket has mode 660, "
       "whatever the umask.",
       kNeedsRestart},
      config.listen, ListenForm{});
  visit({"admin_listen", "Address of metrics, health and the page. Left out: on listen.", kNeedsRestart},
        config.admin_listen, ListenForm{});
  visit(
      {"admin_keys",
       "Keys of those who may see the page and its data: secrets, or sha256:HEX. Left out: no key on admin_listen; on "
       "listen no key either, unless tenants have keys, and then nobody may."},
      config.admin_keys, ApiKeysForm{});
  visit({"tls", "TLS for clients on listen. Left out: in the clear."}, config.tls, SectionForm{true});
  visit({"admin_tls", "TLS on admin_listen. Left out: in the clear."}, config.admin_tls, SectionForm{true});
  visit({"trusted_proxies",
         "Proxies whose word about the addresses of clients counts: in X-Forwarded-For, and in PROXY headers with "
         "proxy_protocol. unix stands for a unix socket. Left out: nobody is trusted."},
        config.trusted_proxies, ProxiesForm{});
  visit({"proxy_protocol",
         "True: connections of trusted proxies to listen begin with a PROXY header, version 1 or 2; others do not."},
        config.proxy_protocol, FlagForm{});
  visit({"http2",
         "True: clients may speak HTTP/2, by ALPN under TLS and with prior knowledge in the clear. False: HTTP/1.1 "
         "alone."},
        config.http2, FlagForm{});
}

template <Of<Config> Section, class Visitor>
void VisitFields(Section& config, Visitor& visit) {
  VisitListeners(config, visit);
  visit({"threads", "Threads for connections; 0: one per core. One more watches the fleet.", kNeedsRestart},
        config.threads, CountForm{0, 1024});
  visit({"policy",
         "Policy that decides: a name, or name:setting=value,... (docs/policies.md). With {decide: ..., shadow: ...}, "
         "the second one runs beside it on the same events, and the page shows what it would have done "
         "(docs/shadow.md).",
         kNeedsRestart},
        config.policy, PolicyForm{});
  VisitFleetLists(config, visit);
  visit({"classes",
         "Classes by name. Built in are interactive, standard, background and, with `state.path`, jobs; the file may "
         "replace them. Others rank by their TTFT goals; one that a reload adds ranks last until a restart. A name has "
         "letters a-z, digits, _ and -; none and other are words of the metrics."},
        config.classes, ClassesForm{});
  visit({"tenants", "Clients with keys. Left out: any key is accepted."}, config.tenants, ListForm{});
  visit({"tenant_header",
         "Header that names the tenant where tenants have no keys. Only the gateway in front may set it: its names own "
         "files, batches and stored responses, and count for `fairness`. Logs and pages have configured tenants."},
        config.tenant_header, HeaderNameForm{});
  visit(
      {"fairness",
       "The way in which the tenants of a class share the service of a model. With `weighted`, the least served tenant "
       "for its weight goes first. With `leads`, a tenant with less than 0.6 of its share goes first, by weight. With "
       "`none`, tenants have no shares; nor have they under the policy of a rival. Left out: `leads` where tenants or "
       "tenant_header are given, else `none`."},
      config.fairness, ChoiceForm{kFairnessNames});
  visit(
      {"fairness_charge",
       "Service that a request is charged. tokens: prompt tokens, and output tokens twice. memory: KV memory times the "
       "time for which it is held."},
      config.fairness_charge, ChoiceForm{kServiceNames});
  visit({"relay_headers",
         "Further headers of clients that engines get. All get content-type, accept, accept-language, user-agent, "
         "anthropic-* and those of tracing; the kind openai also gets openai-*, http-referer and x-title."},
        config.relay_headers, HeaderNamesForm{});
  visit({"routes", "Further paths of engines that are passed. Left out: none (docs/endpoints.md lists the others)."},
        config.routes, ListForm{});
  visit({"cors", "Pages of other origins that may read answers. Left out: none may."}, config.cors, SectionForm{});
  visit({"compression", "Compression of answers."}, config.compression, SectionForm{});
  visit({"realtime", "WebSockets to engines."}, config.realtime, SectionForm{});
  visit({"state", "Storage across restarts.", kUnlessZero}, config.state, SectionForm{});
  visit({"trace", "Replay of trace files by simulate.", kUnlessZero}, config.trace, SectionForm{});
  visit({"limits", "Bounds of the router."}, config.limits, SectionForm{});
  visit({"batching", "Requests that go to an engine together."}, config.batching, SectionForm{});
  visit({"poll", "Observation of engines."}, config.poll, SectionForm{});
  visit({"log", "The log: decisions, faults, notices and requests."}, config.log, SectionForm{});
  visit({"tracing", "Traces of requests. Left out: none.", kUnlessZero}, config.tracing, SectionForm{});
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_SERVICE_KEYS_H_
