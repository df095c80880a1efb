// The headers that no configuration may relay: framing, hop-by-hop, credentials of the router, and its own.
//
// The list matches NeverRelayed of router/openai/request/header_rules.h.
#ifndef PENSTOCK_CONFIG_VALUES_UNRELAYED_HEADERS_H_
#define PENSTOCK_CONFIG_VALUES_UNRELAYED_HEADERS_H_

#include <array>

#include "absl/strings/string_view.h"

namespace penstock {

// In lower case.
inline constexpr std::array<absl::string_view, 20> kUnrelayedHeaders = {"connection",
                                                                        "keep-alive",
                                                                        "proxy-connection",
                                                                        "proxy-authenticate",
                                                                        "proxy-authorization",
                                                                        "te",
                                                                        "trailer",
                                                                        "transfer-encoding",
                                                                        "upgrade",
                                                                        "http2-settings",
                                                                        "authorization",
                                                                        "x-api-key",
                                                                        "content-encoding",
                                                                        "content-length",
                                                                        "expect",
                                                                        "host",
                                                                        "cookie",
                                                                        "accept-encoding",
                                                                        "via",
                                                                        "x-request-id"};
inline constexpr absl::string_view kUnrelayedPrefix = "x-penstock-";

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_UNRELAYED_HEADERS_H_
