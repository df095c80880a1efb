#include "router/openai/error/http_status.h"

namespace penstock::http_status {
namespace {

struct Phrase {
  int status;
  absl::string_view text;
};
constexpr Phrase kPhrases[] = {
    {kOk, "OK"},
    {kSwitchingProtocols, "Switching Protocols"},
    {kNoContent, "No Content"},
    {kBadRequest, "Bad Request"},
    {kUnauthorized, "Unauthorized"},
    {kForbidden, "Forbidden"},
    {kNotFound, "Not Found"},
    {kMethodNotAllowed, "Method Not Allowed"},
    {kRequestTimeout, "Request Timeout"},
    {kConflict, "Conflict"},
    {kGone, "Gone"},
    {kContentTooLarge, "Content Too Large"},
    {kUnsupportedMediaType, "Unsupported Media Type"},
    {kUnprocessableContent, "Unprocessable Content"},
    {kUpgradeRequired, "Upgrade Required"},
    {kTooManyRequests, "Too Many Requests"},
    {kHeaderFieldsTooLarge, "Request Header Fields Too Large"},
    {kInternalServerError, "Internal Server Error"},
    {kNotImplemented, "Not Implemented"},
    {kBadGateway, "Bad Gateway"},
    {kServiceUnavailable, "Service Unavailable"},
    {kLoopDetected, "Loop Detected"},
    {kOverloaded, "Overloaded"},
    {kGatewayTimeout, "Gateway Timeout"},
};

}  // namespace

absl::string_view ReasonPhrase(int status) {
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.text;
  }
  return IsError(status) ? "Error" : "OK";
}

}  // namespace penstock::http_status
