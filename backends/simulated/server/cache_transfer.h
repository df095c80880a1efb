// The way of a cache from one simulated engine to another, by HTTP instead of a fabric.
//
//   POST /simulated/cache?request=ID      the cache, once its transfer is over: {"tokens": N}; it is then free
#ifndef PENSTOCK_BACKENDS_SIMULATED_SERVER_CACHE_TRANSFER_H_
#define PENSTOCK_BACKENDS_SIMULATED_SERVER_CACHE_TRANSFER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <variant>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/face/job.h"
#include "backends/simulated/face/pages.h"

namespace penstock::simulated {

// Called before the job of a client runs. It names the place of the cache that the engine holds for others. It waits
// for the cache that the job fetches, five seconds at most. An error: the other engine is away, or has no such cache.
// `parsed` may be an error.
boost::asio::awaitable<std::optional<ApiError>> PrepareCache(std::variant<Job, ApiError>& parsed,
                                                             const boost::asio::ip::tcp::socket& client,
                                                             std::shared_ptr<KeptCaches> kept, const Engine& engine);
// The page above, or any other one. The texts of `request` live until then.
boost::asio::awaitable<Page> AnswerEveryPage(PageRequest request, std::shared_ptr<Engine> engine,
                                             std::shared_ptr<KeptCaches> kept);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SERVER_CACHE_TRANSFER_H_
