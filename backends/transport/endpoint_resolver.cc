#include "backends/transport/endpoint_resolver.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/names/literal.h"
#include "backends/socket/loop_door.h"
#include "backends/transport/known_addresses.h"
#include "base/clock.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The addresses of a host that needs no look-up: a literal, or localhost (RFC 6761). Else empty.
std::vector<asio::ip::address> AddressesWithoutLookUp(const std::string& host) {
  if (const auto literal = AddressOfLiteral(host)) return {*literal};
  if (!absl::EqualsIgnoreCase(host, "localhost")) return {};
  return {asio::ip::address_v6::loopback(), asio::ip::address_v4::loopback()};
}

}  // namespace

// One look-up at a time. Its answer ends the timers of the coroutines that wait for it.
struct EndpointResolver::State : std::enable_shared_from_this<State> {
  using Timer = std::shared_ptr<asio::steady_timer>;

  State(asio::io_context& io, std::string name, uint16_t to, NameLookUps& by)
      : loop(io), host(std::move(name)), port(to), look_ups(by) {
    literal = At(AddressesWithoutLookUp(host));
  }

  std::vector<SocketAddress> At(const std::vector<asio::ip::address>& addresses) const {
    std::vector<SocketAddress> list;
    list.reserve(addresses.size());
    for (const asio::ip::address& address : addresses) list.emplace_back(asio::ip::tcp::endpoint(address, port));
    return list;
  }

  // Takes the addresses that another loop found.
  void TakeKnown() {
    if (auto last = look_ups.LastOf(host); !last.empty()) known.OnTold(At(last));
  }

  void LookUp() {
    if (std::exchange(running, true)) return;
    // Its thread must not end this object, whose timers belong to the loop.
    look_ups.LookUp(host, [door = LoopDoor::Of(loop), weak = weak_from_this()](const NameAnswer& answer) {
      door->Post([weak, answer] {
        if (const auto self = weak.lock()) self->OnAnswer(answer);
      });
    });
  }

  void OnAnswer(const NameAnswer& answer) {
    running = false;
    error = answer.error;
    if (answer.addresses.empty()) {
      known.OnFailed(Now());
    } else {
      known.OnFound(At(answer.addresses), Now());
    }
    for (const Timer& timer : std::exchange(waiting, {})) timer->cancel();
  }

  asio::io_context& loop;
  const std::string host;
  const uint16_t port;
  NameLookUps& look_ups;
  std::vector<SocketAddress> literal;
  KnownAddresses known;
  boost::system::error_code error;  // The result of the last look-up.
  bool running = false;
  std::vector<Timer> waiting;
};

EndpointResolver::EndpointResolver(asio::io_context& loop, std::string host, uint16_t port, NameLookUps& look_ups)
    : state_(std::make_shared<State>(loop, std::move(host), port, look_ups)) {}

void EndpointResolver::Distrust() { state_->known.Distrust(); }

asio::awaitable<absl::StatusOr<std::vector<SocketAddress>>> EndpointResolver::Resolve(Duration timeout) {
  const std::shared_ptr<State> state = state_;
  if (!state->literal.empty()) co_return state->literal;
  if (state->known.addresses().empty()) state->TakeKnown();
  if (state->known.Due(Now())) state->LookUp();
  if (!state->known.usable() && state->running) {
    // Old addresses deserve a part of the time.
    const bool known = !state->known.addresses().empty();
    const auto timer = std::make_shared<asio::steady_timer>(state->loop, ToChrono(timeout) / (known ? 2 : 1));
    state->waiting.push_back(timer);
    co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
    std::erase(state->waiting, timer);
  }
  if (!state->known.addresses().empty()) co_return state->known.addresses();
  if (state->running) {
    co_return absl::DeadlineExceededError(absl::StrCat("resolving ", state->host, ": no answer in time"));
  }
  co_return absl::UnavailableError(absl::StrCat("resolving ", state->host, ": ", state->error.message()));
}

}  // namespace penstock
