// Reasons to refuse a request: one table for status, error body, headers, metric label and log.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_REFUSAL_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_REFUSAL_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

enum class Refusal : uint8_t {
  kContextExceeded,      // Prompt (plus max_tokens) above every serving replica's context.
  kNeverFits,            // Its prompt alone is larger than every pool it could use.
  kUnknownModel,         // No replica, up or down, serves the model.
  kInvalidKey,           // Tenants are configured and the key is none of theirs.
  kQueueFull,            // Count or bytes of waiting requests at their bound.
  kDeadlineUnreachable,  // The first token can no longer come within the TTFT goal, though an idle fleet could make it.
  kQueueTimeout,         // Waited for the class's whole queue time.
  kNoReplica,            // Replicas of the model exist, none is up.
  kShuttingDown,         // The router drains.
  kTenantTokens,         // The tenant used its tokens per minute.
  kTenantRequests,       // The tenant has as many requests as it may have at a time.
  kAdapterFailed,        // No replica that is up could load the adapter.
};
inline constexpr int kRefusalCount = 12;

struct RefusalTraits {
  Refusal refusal;
  absl::string_view label;  // Metric label and log value.
  int status;               // HTTP status.
  absl::string_view type;   // OpenAI error type.
  absl::string_view code;   // OpenAI error code.
  bool retryable;           // Retry-After is sent; otherwise x-should-retry: false.
};

inline constexpr std::array<RefusalTraits, kRefusalCount> kRefusals = {{
    {Refusal::kContextExceeded, "context_exceeded", 400, "invalid_request_error", "context_length_exceeded", false},
    {Refusal::kNeverFits, "never_fits", 400, "invalid_request_error", "context_length_exceeded", false},
    {Refusal::kUnknownModel, "unknown_model", 404, "invalid_request_error", "model_not_found", false},
    {Refusal::kInvalidKey, "invalid_key", 401, "invalid_request_error", "invalid_api_key", false},
    {Refusal::kQueueFull, "queue_full", 429, "rate_limit_error", "rate_limit_exceeded", true},
    {Refusal::kDeadlineUnreachable, "deadline", 429, "rate_limit_error", "rate_limit_exceeded", true},
    {Refusal::kQueueTimeout, "queue_timeout", 429, "rate_limit_error", "rate_limit_exceeded", true},
    {Refusal::kNoReplica, "no_replica", 503, "server_error", "service_unavailable", true},
    {Refusal::kShuttingDown, "shutting_down", 503, "server_error", "service_unavailable", true},
    {Refusal::kTenantTokens, "tenant_tokens", 429, "rate_limit_error", "rate_limit_exceeded", true},
    {Refusal::kTenantRequests, "tenant_requests", 429, "rate_limit_error", "rate_limit_exceeded", true},
    {Refusal::kAdapterFailed, "adapter_failed", 503, "server_error", "service_unavailable", true},
}};

constexpr const RefusalTraits& TraitsOf(Refusal refusal) { return kRefusals[static_cast<size_t>(refusal)]; }

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_REFUSAL_H_
