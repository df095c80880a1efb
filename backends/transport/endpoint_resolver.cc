#include "backends/transport/endpoint_resolver.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/transport/known_addresses.h"
#include "base/clock.h"

namespace penstock {
namespace asio = boost::asio;

// One look-up at a time. Its answer ends the timers of the coroutines that wait for it.
struct EndpointResolver::State : std::enable_shared_from_this<State> {
  using Timer = std::shared_ptr<asio::steady_timer>;

  State(asio::io_context& io, uint16_t to) : loop(io), port(to), resolver(io) {}

  void LookUp(const std::string& host) {
    if (std::exchange(running, true)) return;
    resolver.async_resolve(host, std::to_string(port),
                           [self = shared_from_this()](const auto& found, const auto& list) {
                             std::vector<SocketAddress> addresses;
                             for (const auto& entry : list) addresses.emplace_back(entry.endpoint());
                             self->OnAnswer(found, std::move(addresses));
                           });
  }

  void OnAnswer(const boost::system::error_code& found, std::vector<SocketAddress> addresses) {
    running = false;
    error = found;
    if (found || addresses.empty()) {
      known.OnFailed(Now());
    } else {
      known.OnFound(std::move(addresses), Now());
    }
    for (const Timer& timer : std::exchange(waiting, {})) timer->cancel();
  }

  asio::io_context& loop;
  uint16_t port;
  asio::ip::tcp::resolver resolver;
  KnownAddresses known;
  boost::system::error_code error;  // The result of the last look-up.
  bool running = false;
  std::vector<Timer> waiting;
};

EndpointResolver::EndpointResolver(asio::io_context& loop, std::string host, uint16_t port)
    : host_(std::move(host)), state_(std::make_shared<State>(loop, port)) {}

void EndpointResolver::Distrust() { state_->known.Distrust(); }

asio::awaitable<absl::StatusOr<std::vector<SocketAddress>>> EndpointResolver::Resolve(Duration timeout) {
  boost::system::error_code no_literal;
  const asio::ip::address literal = asio::ip::make_address(host_, no_literal);
  if (!no_literal) co_return std::vector<SocketAddress>(1, asio::ip::tcp::endpoint(literal, state_->port));
  const std::shared_ptr<State> state = state_;
  if (state->known.Due(Now())) state->LookUp(host_);
  if (!state->known.usable() && state->running) {
    // Old addresses deserve a part of the time.
    const bool known = !state->known.addresses().empty();
    const auto timer = std::make_shared<asio::steady_timer>(state->loop, ToChrono(timeout) / (known ? 2 : 1));
    state->waiting.push_back(timer);
    co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    std::erase(state->waiting, timer);
  }
  if (!state->known.addresses().empty()) co_return state->known.addresses();
  if (state->running) co_return absl::DeadlineExceededError(absl::StrCat("resolving ", host_));
  co_return absl::UnavailableError(absl::StrCat("resolving ", host_, ": ", state->error.message()));
}

}  // namespace penstock
