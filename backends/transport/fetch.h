// Small GET requests with a bounded answer, for discovery and polls.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_FETCH_H_
#define PENSTOCK_BACKENDS_TRANSPORT_FETCH_H_

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/transport/upstream.h"
#include "base/units.h"

namespace penstock {

struct Fetched {
  int status = 0;
  std::string body;
  bool ok() const { return status >= 200 && status < 300; }
};

// The HTTP status of the answer that an error below tells of; zero: no answer came.
int HttpStatusOf(const absl::Status& error);

// Each step may take 2 s, and the answer may have 4 MiB. A non-empty key goes out as bearer token. The status of the
// engine is a value; errors are errors of the exchange. Only 503 is Unavailable: the engine loads, scales or is dead.
boost::asio::awaitable<absl::StatusOr<Fetched>> Fetch(UpstreamPool& pool, std::string target, absl::string_view key);

// The body of a 2xx answer. Unauthenticated for 401 and 403 (the key is missing or wrong), NotFound for 404, 405 and
// 501, Unavailable for other statuses.
boost::asio::awaitable<absl::StatusOr<std::string>> FetchGood(UpstreamPool& pool, std::string target,
                                                              absl::string_view key);
// The body of a 2xx answer, or an empty body when the engine refuses the page with 4xx or 501. Unavailable for 502, 503
// and 504, FailedPrecondition for other statuses, OutOfRange for an answer that is too long.
boost::asio::awaitable<absl::StatusOr<std::string>> FetchUnlessRefused(UpstreamPool& pool, std::string target,
                                                                       absl::string_view key);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_FETCH_H_
