// The headers that let pages of other origins read answers (CORS), by the configuration. Pure.
#ifndef PENSTOCK_ROUTER_HTTP_ORIGIN_CROSS_ORIGIN_H_
#define PENSTOCK_ROUTER_HTTP_ORIGIN_CROSS_ORIGIN_H_

#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"
#include "config/values/client_config.h"

namespace penstock {

// For the answer to a request with this Origin, which may be empty. Answers differ by it, so Vary names it even where
// the origin may not read.
HeaderList CrossOriginHeaders(const CorsConfig& cors, absl::string_view origin);

// The request asks whether another one would be allowed.
bool IsPreflight(absl::string_view method, const HeaderList& request);

// For the answer to it, beside CrossOriginHeaders. `methods` are those of the path; empty: whatever it asks for.
HeaderList PreflightHeaders(const CorsConfig& cors, const HeaderList& request, absl::string_view methods);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_ORIGIN_CROSS_ORIGIN_H_
