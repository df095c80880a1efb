#include "backends/simulated/server/engine_server.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/simulated/server/engine_session.h"
#include "base/listen_failure.h"

namespace penstock::simulated {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

asio::awaitable<void> Accept(tcp::acceptor& acceptor, Engines ranks, std::shared_ptr<OpenSockets> open,
                             EngineStores stores) {
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted || !acceptor.is_open()) co_return;
    if (error) {
      // Out of descriptors, as a rule: connections that end give some back.
      asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(20));
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    asio::co_spawn(acceptor.get_executor(), ServeConnection(std::move(socket), ranks, open, stores), asio::detached);
  }
}

}  // namespace

EngineServer::EngineServer(asio::io_context& context, Engines ranks)
    : context_(context),
      acceptor_(context),
      ranks_(std::move(ranks)),
      stores_{std::make_shared<ResponseStore>(), std::make_shared<KeptCaches>(ranks_.front())} {}

absl::Status EngineServer::Listen(const tcp::endpoint& endpoint) {
  boost::system::error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(4096, error);
  if (error) {
    return absl::UnavailableError(ListenFailure(absl::StrCat(endpoint.address().to_string(), ":", endpoint.port()),
                                                error.message(), error.value()));
  }
  address_ = acceptor_.local_endpoint();
  asio::co_spawn(context_, Accept(acceptor_, ranks_, open_, stores_), asio::detached);
  return absl::OkStatus();
}

void EngineServer::Die() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  // Sessions find the end of their sockets, and end.
  for (tcp::socket* socket : *open_) socket->shutdown(tcp::socket::shutdown_both, ignored);
  stores_.responses->Clear();
  stores_.kept->Clear();
  for (const auto& rank : ranks_) rank->Restart();
}

}  // namespace penstock::simulated
