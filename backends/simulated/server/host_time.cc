#include "backends/simulated/server/host_time.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>

namespace penstock::simulated {

boost::asio::awaitable<void> PassApiServer(const EngineSpec& spec, boost::asio::any_io_executor executor) {
  const std::chrono::duration<double> time(spec.host_time.seconds() / spec.time_scale);
  if (time.count() <= 0) co_return;
  boost::asio::steady_timer timer(executor, std::chrono::duration_cast<std::chrono::nanoseconds>(time));
  boost::system::error_code ignored;
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

}  // namespace penstock::simulated
