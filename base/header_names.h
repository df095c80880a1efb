// The headers that the router never passes on: those of one connection, and those that it sets itself. In lower case.
#ifndef PENSTOCK_BASE_HEADER_NAMES_H_
#define PENSTOCK_BASE_HEADER_NAMES_H_

#include <array>

#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr std::array<absl::string_view, 10> kHopByHopHeaders = {
    "connection", "keep-alive",        "proxy-connection", "proxy-authenticate", "proxy-authorization", "te",
    "trailer",    "transfer-encoding", "upgrade",          "http2-settings"};
// Credentials for the router, framing, and what it tells an engine itself.
inline constexpr std::array<absl::string_view, 10> kOwnHeaders = {
    "authorization",   "x-api-key", "content-encoding", "content-length", "expect", "host", "cookie",
    "accept-encoding", "via",       "x-request-id"};
inline constexpr absl::string_view kOwnPrefix = "x-penstock-";

}  // namespace penstock

#endif  // PENSTOCK_BASE_HEADER_NAMES_H_
