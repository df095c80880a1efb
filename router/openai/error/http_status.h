// HTTP statuses by name, with their reason phrases: the only numbers of statuses under router/ beside the core's
// refusals. `scripts/check_structure.py` proves it.
#ifndef PENSTOCK_ROUTER_OPENAI_ERROR_HTTP_STATUS_H_
#define PENSTOCK_ROUTER_OPENAI_ERROR_HTTP_STATUS_H_

#include "absl/strings/string_view.h"

namespace penstock::http_status {

inline constexpr int kSwitchingProtocols = 101;
inline constexpr int kOk = 200;
inline constexpr int kNoContent = 204;
inline constexpr int kResetContent = 205;
inline constexpr int kPartialContent = 206;
inline constexpr int kBadRequest = 400;
inline constexpr int kUnauthorized = 401;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kMethodNotAllowed = 405;
inline constexpr int kProxyAuthenticationRequired = 407;
inline constexpr int kRequestTimeout = 408;
inline constexpr int kConflict = 409;
inline constexpr int kGone = 410;
inline constexpr int kContentTooLarge = 413;
inline constexpr int kUnsupportedMediaType = 415;
inline constexpr int kUnprocessableContent = 422;
inline constexpr int kUpgradeRequired = 426;
inline constexpr int kTooManyRequests = 429;
inline constexpr int kHeaderFieldsTooLarge = 431;
// Nobody gets this one: the client left before an answer. For metrics and the decision log.
inline constexpr int kClientClosedRequest = 499;
inline constexpr int kInternalServerError = 500;
inline constexpr int kNotImplemented = 501;
inline constexpr int kBadGateway = 502;
inline constexpr int kServiceUnavailable = 503;
inline constexpr int kGatewayTimeout = 504;
inline constexpr int kLoopDetected = 508;
// Anthropic's word for a full engine.
inline constexpr int kOverloaded = 529;

constexpr bool IsSuccess(int status) { return status >= kOk && status < 300; }
constexpr bool IsRedirect(int status) { return status >= 300 && status < kBadRequest; }
constexpr bool IsError(int status) { return status >= kBadRequest; }
constexpr bool IsServerError(int status) { return status >= kInternalServerError; }
// A status that an error of an engine may pass on.
constexpr bool IsKnownError(int status) { return IsError(status) && status < 600; }
constexpr bool IsFullEngine(int status) {
  return status == kTooManyRequests || status == kServiceUnavailable || status == kOverloaded;
}
constexpr bool IsDeniedKey(int status) {
  return status == kUnauthorized || status == kForbidden || status == kProxyAuthenticationRequired;
}

absl::string_view ReasonPhrase(int status);

}  // namespace penstock::http_status

#endif  // PENSTOCK_ROUTER_OPENAI_ERROR_HTTP_STATUS_H_
