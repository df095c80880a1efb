#include "router/openai/error/error_table.h"

#include "absl/strings/str_cat.h"
#include "router/core/contract/refusal.h"

namespace penstock {
namespace {

constexpr ErrorRow ClientFault(ErrorName name, int status, absl::string_view code, BadInput kind,
                               absl::string_view meaning) {
  return {name, status, kInvalidRequest, code, RetryHint::kNone, LabelOf(kind), kind, meaning};
}

constexpr ErrorRow AtTheDoor(ErrorName name, TurnedAway limit, absl::string_view meaning) {
  return {name,
          http_status::kServiceUnavailable,
          kServerError,
          "service_unavailable",
          RetryHint::kAfter,
          LabelOf(limit),
          std::nullopt,
          meaning};
}

constexpr ErrorRow EngineFault(ErrorName name, int status, EngineErrorKind kind, absl::string_view meaning) {
  return {name, status, kServerError, "engine_error", RetryHint::kNone, LabelOf(kind), std::nullopt, meaning};
}

constexpr std::array<ErrorRow, kErrorCount> kErrors = {{
    ClientFault(ErrorName::kMalformedRequest, http_status::kBadRequest, "malformed_request", BadInput::kMalformedHttp,
                "The bytes are not a well-formed HTTP/1.1 request."),
    ClientFault(ErrorName::kTruncated, http_status::kClientClosedRequest, "", BadInput::kTruncated,
                "The connection closed in the middle of a request; there is no answer."),
    ClientFault(ErrorName::kRequestTimeout, http_status::kRequestTimeout, "request_timeout", BadInput::kTooSlow,
                "The head or the body did not arrive in time."),
    ClientFault(ErrorName::kHeaderTooLarge, http_status::kHeaderFieldsTooLarge, "header_too_large",
                BadInput::kHeaderTooLarge, "The head is over its limit."),
    ClientFault(ErrorName::kBodyTooLarge, http_status::kContentTooLarge, "body_too_large", BadInput::kBodyTooLarge,
                "The body is over `limits.max_body`."),
    ClientFault(ErrorName::kNotFound, http_status::kNotFound, "not_found", BadInput::kPath, "No such path."),
    ClientFault(ErrorName::kWrongMethod, http_status::kMethodNotAllowed, "method_not_allowed", BadInput::kMethod,
                "The path has other methods; `allow` names them."),
    ClientFault(ErrorName::kContentType, http_status::kUnsupportedMediaType, "unsupported_media_type",
                BadInput::kContentType, "The body is not announced as JSON, or as a form where the path takes one."),
    ClientFault(ErrorName::kContentEncoding, http_status::kUnsupportedMediaType, "unsupported_content_encoding",
                BadInput::kContentType, "The body is in a coding other than gzip, deflate and zstd."),
    ClientFault(ErrorName::kBrokenEncoding, http_status::kBadRequest, "invalid_content_encoding",
                BadInput::kMalformedJson, "The body cannot be decompressed."),
    ClientFault(ErrorName::kInvalidJson, http_status::kBadRequest, "invalid_json", BadInput::kMalformedJson,
                "The body is not a JSON object in UTF-8."),
    ClientFault(ErrorName::kDuplicateKey, http_status::kBadRequest, "duplicate_key", BadInput::kDuplicateKey,
                "A field that the router reads occurs twice."),
    ClientFault(ErrorName::kWrongType, http_status::kBadRequest, "invalid_type", BadInput::kWrongType,
                "A field has another type."),
    ClientFault(ErrorName::kMissingField, http_status::kBadRequest, "missing_required_parameter",
                BadInput::kMissingField, "A required field is missing."),
    ClientFault(ErrorName::kInvalidValue, http_status::kBadRequest, "invalid_value", BadInput::kOutOfRange,
                "A field is outside of its bounds."),
    ClientFault(ErrorName::kEmptyArray, http_status::kBadRequest, "empty_array", BadInput::kOutOfRange,
                "A list is empty."),
    ClientFault(ErrorName::kTooManyElements, http_status::kBadRequest, "array_above_max_length", BadInput::kOutOfRange,
                "A list is too long."),
    ClientFault(ErrorName::kUnsupportedField, http_status::kBadRequest, "unsupported_parameter", BadInput::kOutOfRange,
                "A field asks for a service that the router does not offer."),
    ClientFault(ErrorName::kUnknownResponse, http_status::kNotFound, "response_not_found", BadInput::kPath,
                "The caller has no stored response of this id."),
    ClientFault(ErrorName::kLostResponse, http_status::kGone, "response_lost", BadInput::kPath,
                "The replica of the stored response has left the fleet."),
    ClientFault(ErrorName::kUnsupportedEndpoint, http_status::kNotFound, "unsupported_endpoint", BadInput::kPath,
                "The engine of this model lacks the endpoint."),
    ClientFault(ErrorName::kInvalidForm, http_status::kBadRequest, "invalid_form", BadInput::kMalformedForm,
                "The body is not a form in parts (multipart/form-data)."),
    ClientFault(ErrorName::kUpgradeRequired, http_status::kUpgradeRequired, "upgrade_required",
                BadInput::kMalformedHttp, "The path takes a WebSocket, over HTTP/1.1 and in version 13."),
    {ErrorName::kJobsOff, http_status::kNotImplemented, kInvalidRequest, "jobs_not_configured", RetryHint::kNever,
     "jobs_off", std::nullopt, "Files and batches need the key `state.path`."},
    ClientFault(ErrorName::kJobNotFound, http_status::kNotFound, "not_found", BadInput::kPath,
                "The caller has no such file or batch."),
    {ErrorName::kJobConflict, http_status::kConflict, kInvalidRequest, "conflict", RetryHint::kNever, "job_conflict",
     std::nullopt, "The present state of the file or batch forbids it."},
    ClientFault(ErrorName::kFileTooLarge, http_status::kContentTooLarge, "file_too_large", BadInput::kBodyTooLarge,
                "The file is over `state.max_file`."),
    {ErrorName::kJobQuota, http_status::kForbidden, kInvalidRequest, "quota_exceeded", RetryHint::kNever, "job_quota",
     std::nullopt,
     "The caller's files or open batches fill `state.max_bytes_per_tenant`, `state.max_files_per_tenant` or "
     "`state.max_open_batches_per_tenant`."},
    {ErrorName::kJobStoreFailed, http_status::kServiceUnavailable, kServerError, "storage_failed", RetryHint::kAfter,
     "job_store", std::nullopt, "The disk of `state.path` fails; the log has the reason."},
    AtTheDoor(ErrorName::kTooManyConnections, TurnedAway::kConnections,
              "The router has `limits.max_connections` connections."),
    AtTheDoor(ErrorName::kNoBodyMemory, TurnedAway::kBodyMemory,
              "The bodies of requests fill `limits.max_body_memory`."),
    AtTheDoor(ErrorName::kNoAnswerMemory, TurnedAway::kAnswerMemory,
              "The answers that clients and the job store have not taken fill `limits.max_answer_memory`."),
    AtTheDoor(ErrorName::kNoLocalResources, TurnedAway::kLocalResources,
              "The router's machine lacks descriptors, memory or ports for a connection to an engine."),
    AtTheDoor(ErrorName::kTooManyRealtime, TurnedAway::kRealtime,
              "There are `realtime.connections` WebSockets, or three quarters of them are the caller's."),
    AtTheDoor(ErrorName::kTooManyStoreReads, TurnedAway::kStoreReads,
              "512 downloads and lists of files and batches go on, or the caller's part of them."),
    {ErrorName::kTooManyOfKey, http_status::kTooManyRequests, kRateLimitError, "rate_limit_exceeded", RetryHint::kAfter,
     LabelOf(TurnedAway::kKeyRequests), std::nullopt, "The API key has `limits.max_requests_per_key` requests."},
    {ErrorName::kLoop, http_status::kLoopDetected, kServerError, "loop_detected", RetryHint::kNever,
     LabelOf(TurnedAway::kLoop), std::nullopt, "The request passed this router before: a replica sends it back."},
    EngineFault(ErrorName::kEngineConnect, http_status::kBadGateway, EngineErrorKind::kConnect,
                "The engine cannot be reached."),
    EngineFault(ErrorName::kEngineTimeout, http_status::kGatewayTimeout, EngineErrorKind::kTimeout,
                "The engine was silent for too long."),
    EngineFault(ErrorName::kEngineClosed, http_status::kBadGateway, EngineErrorKind::kClosed,
                "The engine closed the connection in the middle of its answer."),
    EngineFault(ErrorName::kEngineGarbage, http_status::kBadGateway, EngineErrorKind::kGarbage,
                "The engine's answer is not HTTP, not JSON, or impossible."),
    EngineFault(ErrorName::kEngineServer, http_status::kBadGateway, EngineErrorKind::kServer,
                "The engine reported an error of its own; a status that fits is passed on."),
    {ErrorName::kEnginePushedBack, http_status::kServiceUnavailable, kServerError, "service_unavailable",
     RetryHint::kAfter, LabelOf(EngineErrorKind::kPushedBack), std::nullopt, "The engine is full."},
    EngineFault(ErrorName::kEngineOverflow, http_status::kBadGateway, EngineErrorKind::kOverflow,
                "The engine's KV pool ran out."),
    EngineFault(
        ErrorName::kEngineHung, http_status::kGatewayTimeout, EngineErrorKind::kHung,
        "The engine went down or stopped to work while its connections stayed open. A request that nobody else can "
        "take waits for it and ends with `timeout`."),
    EngineFault(ErrorName::kEngineAsleep, http_status::kGatewayTimeout, EngineErrorKind::kAsleep,
                "Somebody put the engine to sleep under the request, and it could not wait for another."),
    {ErrorName::kClientGone, http_status::kClientClosedRequest, "", "", RetryHint::kNone,
     LabelOf(RequestOutcome::kClientGone), std::nullopt, "The client left first; metrics and log only."},
}};

// A text per Refusal, in its order.
constexpr std::array<absl::string_view, kRefusalCount> kRefusalMeanings = {
    "The prompt is over the context of every replica that serves the model. Limits of the output are the engine's to "
    "refuse.",
    "The prompt alone is larger than every pool that it could use.",
    "No replica, up or down, serves the model.",
    "Keys are configured, and the request has none of them.",
    "The waiting requests are at their bound.",
    "The first token can no longer come within the TTFT goal.",
    "The request waited for the whole queue time of its class.",
    "No replica of the model is up, or could be woken.",
    "The router drains: the request was on its way, or could not end in time. New connections are refused without an "
    "answer.",
    "The tenant used its tokens per minute.",
    "The tenant has as many requests as it may have at a time.",
    "No engine could load the adapter.",
};
static_assert(!kRefusalMeanings.back().empty(), "every refusal has a meaning");

constexpr bool InOrder() {
  for (size_t i = 0; i < kErrors.size(); ++i) {
    if (kErrors[i].name != static_cast<ErrorName>(i)) return false;
  }
  return true;
}
static_assert(InOrder(), "RowOf takes a name as a position");

absl::string_view HintText(RetryHint hint) {
  switch (hint) {
    case RetryHint::kNone:
      return "";
    case RetryHint::kAfter:
      return "`retry-after`";
    case RetryHint::kNever:
      return "`x-should-retry: false`";
  }
  return "";
}

std::string Ticked(absl::string_view text) { return text.empty() ? std::string() : absl::StrCat("`", text, "`"); }

std::string LineOfError(const ErrorRow& row) {
  return absl::StrCat("| ", Ticked(row.label), " | ", row.status, " | ", Ticked(row.type), " | ", Ticked(row.code),
                      " | ", HintText(row.retry), " | ", row.meaning, " |\n");
}

constexpr absl::string_view kErrorColumns =
    "\n\n| reason | status | type | code | retry hint | meaning |\n|---|---|---|---|---|---|\n";

}  // namespace

const ErrorRow& RowOf(ErrorName name) { return kErrors[static_cast<size_t>(name)]; }

ErrorName NameOf(EngineErrorKind kind) {
  return static_cast<ErrorName>(static_cast<int>(ErrorName::kEngineConnect) + static_cast<int>(kind));
}

std::string ErrorReference() {
  std::string text = R"(# Errors

Generated by `penstock reference errors`; do not edit. Every error is an OpenAI error object
(`{"error": {"message", "type", "param", "code"}}`). The reason is in `x-penstock-reason` and in the metrics.
Refusals and failures have a line in the decision log; faults of a client are counted only.
The field `ended` of an error line is `attempt` or `request`; a request that fails has one line of the second kind. An error of an engine about the request itself passes with its status, message and code. Its reason is `rejected`, or `context_exceeded`; five lines a second are written.

## Refusals)";
  absl::StrAppend(&text, kErrorColumns);
  for (const RefusalTraits& refusal : kRefusals) {
    text.append(LineOfError({ErrorName::kClientGone, refusal.status, refusal.type, refusal.code,
                             refusal.retryable ? RetryHint::kAfter : RetryHint::kNever, refusal.label, std::nullopt,
                             kRefusalMeanings[static_cast<size_t>(refusal.refusal)]}));
  }
  text.append("\n## Faults of clients, limits at the door, failures of engines");
  absl::StrAppend(&text, kErrorColumns);
  for (const ErrorRow& row : kErrors) text.append(LineOfError(row));
  return text;
}

}  // namespace penstock
