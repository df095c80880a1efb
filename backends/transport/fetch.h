// A small GET or POST with a bounded answer, as discovery and polling need it.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_FETCH_H_
#define PENSTOCK_BACKENDS_TRANSPORT_FETCH_H_

#include <boost/asio/awaitable.hpp>
#include <string>

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

// Within 2 s in all and 8 MiB. A non-empty key is sent as bearer. The engine's status is a value, not an error; errors
// are those of the exchange. A 503 is Unavailable: the engine is loading, scaling or dead.
boost::asio::awaitable<absl::StatusOr<Fetched>> Fetch(UpstreamPool& pool, std::string target, absl::string_view key);

// The body of a 2xx answer. Unauthenticated for 401 and 403 (the engine's key is missing or wrong), NotFound for 404
// and 501, Unavailable for other statuses.
boost::asio::awaitable<absl::StatusOr<std::string>> FetchGood(UpstreamPool& pool, std::string target,
                                                              absl::string_view key);
// For what an engine may lack: as FetchGood, but an empty body where it refuses the route with a status of 4xx or 501.
boost::asio::awaitable<absl::StatusOr<std::string>> FetchUnlessRefused(UpstreamPool& pool, std::string target,
                                                              absl::string_view key);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_FETCH_H_
