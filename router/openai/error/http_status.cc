#include "router/openai/error/http_status.h"

namespace penstock::http_status {

absl::string_view ReasonPhrase(int status) {
  switch (status) {
    case kOk:
      return "OK";
    case kNoContent:
      return "No Content";
    case kBadRequest:
      return "Bad Request";
    case kUnauthorized:
      return "Unauthorized";
    case kForbidden:
      return "Forbidden";
    case kNotFound:
      return "Not Found";
    case kMethodNotAllowed:
      return "Method Not Allowed";
    case kRequestTimeout:
      return "Request Timeout";
    case kConflict:
      return "Conflict";
    case kGone:
      return "Gone";
    case kContentTooLarge:
      return "Content Too Large";
    case kUnsupportedMediaType:
      return "Unsupported Media Type";
    case kUnprocessableContent:
      return "Unprocessable Content";
    case kTooManyRequests:
      return "Too Many Requests";
    case kHeaderFieldsTooLarge:
      return "Request Header Fields Too Large";
    case kInternalServerError:
      return "Internal Server Error";
    case kNotImplemented:
      return "Not Implemented";
    case kBadGateway:
      return "Bad Gateway";
    case kServiceUnavailable:
      return "Service Unavailable";
    case kLoopDetected:
      return "Loop Detected";
    case kOverloaded:
      return "Overloaded";
    case kGatewayTimeout:
      return "Gateway Timeout";
    default:
      return IsError(status) ? "Error" : "OK";
  }
}

}  // namespace penstock::http_status
