// The one table of errors that the router answers with: name, status, OpenAI type and code, retry hint, label.
//
// The rows of refusals come from the core's own table (router/core/contract/refusal.h). `penstock reference errors`
// prints both. Values only.
#ifndef PENSTOCK_ROUTER_OPENAI_ERROR_ERROR_TABLE_H_
#define PENSTOCK_ROUTER_OPENAI_ERROR_ERROR_TABLE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "router/labels/labels.h"
#include "router/openai/error/http_status.h"

namespace penstock {

enum class ErrorName : uint8_t {
  // Faults of a client.
  kMalformedRequest,
  kTruncated,
  kRequestTimeout,
  kHeaderTooLarge,
  kBodyTooLarge,
  kNotFound,
  kWrongMethod,
  kContentType,
  kContentEncoding,
  kBrokenEncoding,
  kInvalidJson,
  kDuplicateKey,
  kWrongType,
  kMissingField,
  kInvalidValue,
  kEmptyArray,
  kTooManyElements,
  kUnsupportedField,
  kUnknownResponse,
  kLostResponse,
  kUnsupportedEndpoint,
  kInvalidForm,
  kUpgradeRequired,
  // Files and batches.
  kJobsOff,
  kJobNotFound,
  kJobConflict,
  kFileTooLarge,
  kJobQuota,
  kJobStoreFailed,
  // Limits at the door.
  kTooManyConnections,
  kNoBodyMemory,
  kNoAnswerMemory,
  kNoLocalResources,
  kTooManyRealtime,
  kTooManyStoreReads,
  kTooManyOfKey,
  kLoop,
  // Failures of engines, in the order of EngineErrorKind.
  kEngineConnect,
  kEngineTimeout,
  kEngineClosed,
  kEngineGarbage,
  kEngineServer,
  kEnginePushedBack,
  kEngineOverflow,
  kEngineHung,
  kEngineAsleep,
  // The client left before an answer.
  kClientGone,
};
inline constexpr int kErrorCount = 47;

// The retry hint of an answer.
enum class RetryHint : uint8_t {
  kNone,
  kAfter,  // Retry-After and retry-after-ms.
  kNever,  // x-should-retry: false.
};

struct ErrorRow {
  ErrorName name;
  int status;
  absl::string_view type;
  absl::string_view code;
  RetryHint retry;
  absl::string_view label;            // x-penstock-reason, the metric's label and the log's reason.
  std::optional<BadInput> bad_input;  // Set for faults of a client.
  absl::string_view meaning;
};

const ErrorRow& RowOf(ErrorName name);
ErrorName NameOf(EngineErrorKind kind);

inline constexpr absl::string_view kInvalidRequest = "invalid_request_error";
inline constexpr absl::string_view kServerError = "server_error";
inline constexpr absl::string_view kRateLimitError = "rate_limit_error";

// docs/errors.md.
std::string ErrorReference();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ERROR_ERROR_TABLE_H_
