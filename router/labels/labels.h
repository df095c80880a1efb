// The closed sets of label values: ends of requests, faults of clients, failures of engines.
//
// Metrics, the decision log and the tests take names from this header and from router/core/contract/refusal.h only.
#ifndef PENSTOCK_ROUTER_LABELS_LABELS_H_
#define PENSTOCK_ROUTER_LABELS_LABELS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// The end of a request, seen from outside.
enum class RequestOutcome : uint8_t {
  kOk,           // The engine ended it.
  kRefused,      // By the router, with a named reason.
  kClientGone,   // The client vanished, waiting or running.
  kEngineError,  // The engine failed it and no other could take it.
  kBadRequest,   // The router or the engine found it malformed.
};
inline constexpr std::array<absl::string_view, 5> kRequestOutcomeLabels = {"ok", "refused", "client_gone",
                                                                           "engine_error", "bad_request"};
constexpr absl::string_view LabelOf(RequestOutcome outcome) {
  return kRequestOutcomeLabels[static_cast<size_t>(outcome)];
}

// A fault of a client. Each has one row of docs/bad-input.md or more.
enum class BadInput : uint8_t {
  kMalformedHttp,
  kMalformedJson,
  kDuplicateKey,
  kWrongType,
  kMissingField,
  kOutOfRange,
  kBodyTooLarge,
  kHeaderTooLarge,
  kTooSlow,    // A head or body after its timeout.
  kTruncated,  // The connection closed in the middle of a request.
  kMethod,
  kPath,
  kContentType,
  kMalformedForm,
  kProxyHeader,  // A trusted proxy's connection without a readable PROXY header.
  kMalformedHttp2,
  kHttp2Flood,  // Frames without use, or a head that grows without end.
};
inline constexpr std::array<absl::string_view, 17> kBadInputLabels = {
    "malformed_http", "malformed_json",   "duplicate_key", "wrong_type",      "missing_field", "out_of_range",
    "body_too_large", "header_too_large", "too_slow",      "truncated",       "method",        "path",
    "content_type",   "malformed_form",   "proxy_header",  "malformed_http2", "http2_flood"};
constexpr absl::string_view LabelOf(BadInput kind) { return kBadInputLabels[static_cast<size_t>(kind)]; }

// An event of a connection of HTTP/2.
enum class Http2Event : uint8_t {
  kConnection,
  kRequest,
  kReset,  // Of a request, by its client, before the end of the answer.
};
inline constexpr std::array<absl::string_view, 3> kHttp2EventLabels = {"connection", "request", "reset"};
constexpr absl::string_view LabelOf(Http2Event event) { return kHttp2EventLabels[static_cast<size_t>(event)]; }

// The end of a connection that switched to a WebSocket.
enum class RealtimeEnd : uint8_t {
  kClient,   // Its client ended it.
  kEngine,   // Its engine did.
  kIdle,     // Nothing passed for `realtime.idle`.
  kTime,     // It lasted for `realtime.time`.
  kStopped,  // The router ends, or takes its memory back.
  kBroken,   // One side was reset.
};
inline constexpr std::array<absl::string_view, 6> kRealtimeEndLabels = {"client", "engine",  "idle",
                                                                        "time",   "stopped", "broken"};
constexpr absl::string_view LabelOf(RealtimeEnd end) { return kRealtimeEndLabels[static_cast<size_t>(end)]; }

// A failure of an engine.
enum class EngineErrorKind : uint8_t {
  kConnect,     // Not reachable.
  kTimeout,     // No first byte, or a gap in a stream, for too long.
  kClosed,      // Connection lost in the middle of an answer.
  kGarbage,     // Not HTTP, not JSON, or an impossible answer.
  kServer,      // An error status of its own.
  kPushedBack,  // 429 or 503: full.
  kOverflow,    // Its KV pool ran out and running requests failed.
  kHung,        // Down, or without a sign of work, while its connections stay open.
  kAsleep,      // Somebody put it to sleep under its requests.
};
inline constexpr std::array<absl::string_view, 9> kEngineErrorLabels = {
    "connect", "timeout", "closed", "garbage", "server", "pushed_back", "overflow", "hung", "asleep"};
constexpr absl::string_view LabelOf(EngineErrorKind kind) { return kEngineErrorLabels[static_cast<size_t>(kind)]; }

// The result of another reading of a running engine's facts.
enum class Reread : uint8_t { kSame, kChanged, kFailed };
inline constexpr std::array<absl::string_view, 3> kRereadLabels = {"same", "changed", "failed"};
constexpr absl::string_view LabelOf(Reread result) { return kRereadLabels[static_cast<size_t>(result)]; }

// The end of an order to sleep or to wake. In the order of VerbFault.
enum class SleepResult : uint8_t {
  kOk,
  kRefused,
  kServer,
  kConnect,
  kTimeout,
  kUnchanged,
  kBusy,
  kCommand,
  kUnable,
};
inline constexpr std::array<absl::string_view, 9> kSleepResultLabels = {
    "ok", "refused", "server", "connect", "timeout", "unchanged", "busy", "command", "unable"};
constexpr absl::string_view LabelOf(SleepResult result) { return kSleepResultLabels[static_cast<size_t>(result)]; }

// The end of a reading or writing of an engine's kvcached segment.
enum class SegmentResult : uint8_t {
  kOk,
  kMissing,  // There is no such file.
  kDenied,   // It may not be opened, or the system failed.
  kBusy,     // Another process holds its lock.
  kGarbage,  // It is no segment: another kind or size of file, or impossible numbers.
  kHeld,     // The engine holds more than the limit that was to be written.
};
inline constexpr std::array<absl::string_view, 6> kSegmentResultLabels = {"ok",   "missing", "denied",
                                                                          "busy", "garbage", "held"};
constexpr absl::string_view LabelOf(SegmentResult result) { return kSegmentResultLabels[static_cast<size_t>(result)]; }

// The end of one reading of a node's exporter.
enum class NodeScrape : uint8_t {
  kOk,
  kUnreachable,  // No connection, no answer, or no good status.
  kTimeout,      // It did not end in time.
  kTooLarge,     // The page, one of its lines, or its samples of rules are over their bound.
  kGarbage,      // The page has no sample of its kind, or is cut.
};
inline constexpr std::array<absl::string_view, 5> kNodeScrapeLabels = {"ok", "unreachable", "timeout", "too_large",
                                                                       "garbage"};
constexpr absl::string_view LabelOf(NodeScrape result) { return kNodeScrapeLabels[static_cast<size_t>(result)]; }

// The end of an answer whose engine failed after the client had part of it.
enum class ResumeResult : uint8_t {
  kContinued,  // The client sees one unbroken stream.
  kWhole,      // This and the following: reasons why it was not continued. The answer is no stream.
  kEndpoint,
  kSeveral,  // n, or a list of prompts.
  kTools,
  kLogprobs,
  kStructured,
  kEcho,
  kPrompt,     // Token ids, images, or an answer that the client began.
  kOtherText,  // Reasoning, a tool call, a refusal.
  kBudget,     // Its text is over max_kept_text.
  kEngine,     // No engine continues a message, or the chosen one refused.
  kTries,
  kDeadline,
  kRefused,  // No room elsewhere in time.
  kEffects,  // A second run would store or do something twice.
  kSeed,     // The random numbers of the request would begin again.
};
inline constexpr std::array<absl::string_view, 17> kResumeLabels = {
    "continued",  "whole",  "endpoint", "several", "tools",    "logprobs", "structured", "echo", "prompt",
    "other_text", "budget", "engine",   "tries",   "deadline", "refused",  "effects",    "seed"};
constexpr absl::string_view LabelOf(ResumeResult result) { return kResumeLabels[static_cast<size_t>(result)]; }

// The end of the first stage of a request on a pair: its prompt at a prefill engine.
enum class HandoverEnd : uint8_t {
  kHandedOver,  // The decode engine gets the cache.
  kNothing,     // The answer names no cache. This and the next two: the decode engine computes the prompt.
  kFalse,       // The answer names one in a way that no decode engine may get.
  kRejected,    // The prefill engine found the request bad.
  kFailed,      // The engine failed: the request is placed again.
  kLeft,        // The client left, or the router took the request back.
  kSkipped,     // A decode engine failed with the last cache of the request: this time it computes the prompt.
};
inline constexpr std::array<absl::string_view, 7> kHandoverLabels = {"handed_over", "nothing", "false",  "rejected",
                                                                     "failed",      "left",    "skipped"};
constexpr absl::string_view LabelOf(HandoverEnd end) { return kHandoverLabels[static_cast<size_t>(end)]; }

// The end of a call that several embedding requests shared.
enum class MergeEnd : uint8_t {
  kMerged,     // Each request got its part of one answer.
  kSentAlone,  // The call failed, and each request was sent by itself.
  kDivided,    // The engine refused the call, and its halves were sent.
  kDeserted,   // All its requests left, or ran out of time.
};
inline constexpr std::array<absl::string_view, 4> kMergeLabels = {"merged", "sent_alone", "divided", "deserted"};
constexpr absl::string_view LabelOf(MergeEnd end) { return kMergeLabels[static_cast<size_t>(end)]; }

// The end of a span that was made for the trace collector.
enum class SpanEnd : uint8_t {
  kExported,
  kDropped,   // The queue was full, or the router ended.
  kFailed,    // The collector did not take it.
  kRejected,  // The collector took its batch and not this span.
};
inline constexpr std::array<absl::string_view, 4> kSpanEndLabels = {"exported", "dropped", "failed", "rejected"};
constexpr absl::string_view LabelOf(SpanEnd end) { return kSpanEndLabels[static_cast<size_t>(end)]; }

// A quantity with a limit.
enum class Bounded : uint8_t {
  kConnections,
  kQueuedRequests,
  kQueuedBytes,
  kBodyMemory,
  kAnswerMemory,
  kDeliveredText,
};
inline constexpr std::array<absl::string_view, 6> kBoundedLabels = {"connections", "queued_requests", "queued_bytes",
                                                                    "body_memory", "answer_memory",   "kept_text"};

// The limit of the router that turned a connection or a request away.
enum class TurnedAway : uint8_t {
  kConnections,
  kBodyMemory,
  kAnswerMemory,
  kLocalResources,  // Descriptors, memory or ports for a connection to an engine.
  kKeyRequests,
  kLoop,  // No limit: the request passed this router before.
  kRealtime,
  kStoreReads,  // Downloads and lists of the job store.
};
inline constexpr std::array<absl::string_view, 8> kTurnedAwayLabels = {
    "connections",  "body_memory", "answer_memory", "local_resources",
    "key_requests", "loop",        "realtime",      "store_reads"};
constexpr absl::string_view LabelOf(TurnedAway limit) { return kTurnedAwayLabels[static_cast<size_t>(limit)]; }

// The bounded set of endpoints; anything else becomes "other".
inline constexpr std::array<absl::string_view, 23> kEndpointLabels = {
    "chat",         "completions",     "embeddings",   "responses",  "rerank",     "score",
    "pooling",      "classify",        "moderations",  "tokenize",   "detokenize", "messages",
    "count_tokens", "transcriptions",  "translations", "speech",     "images",     "image_edits",
    "realtime",     "stored_response", "route",        "free_route", "other"};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LABELS_LABELS_H_
