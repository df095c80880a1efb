// The body of POST /v1/batches as a value, with every check that needs no store. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_BATCH_BATCH_REQUEST_H_
#define PENSTOCK_ROUTER_JOBS_BATCH_BATCH_REQUEST_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "base/units.h"
#include "router/openai/error/api_error.h"

namespace penstock::jobs {

struct BatchRequest {
  std::string input_file_id;
  std::string endpoint;  // The path, as every line has to name it.
  std::string completion_window;
  Duration window;
  std::string metadata;  // A JSON object; empty: null.
  std::optional<Duration> output_expires_after;
};

std::variant<BatchRequest, ApiError> ReadBatchRequest(absl::string_view body);

// The endpoint of a path that lines may name; nullopt: Penstock does not route it.
std::optional<Endpoint> EndpointOfPath(absl::string_view path);

// `24h`, `90m`, `7d` or `30s`. Nullopt: no such form, or not within a second and 30 days.
std::optional<Duration> ReadWindow(absl::string_view text);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_BATCH_BATCH_REQUEST_H_
