#include "tests/backends/transport/scripted_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

size_t BodyLength(const std::string& head) {
  const size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
}

asio::awaitable<void> Play(ScriptedServer::Script script, asio::ip::tcp::socket socket) {
  Peer peer(std::move(socket));
  co_await script(peer);
}

}  // namespace

asio::awaitable<std::string> Peer::Request() {
  auto [error, head_size] = co_await asio::async_read_until(socket_, asio::dynamic_buffer(input_), "\r\n\r\n", kAwait);
  if (error) co_return "";
  const size_t whole = head_size + BodyLength(input_.substr(0, head_size));
  while (input_.size() < whole) {
    char piece[4096];
    auto [failed, count] = co_await socket_.async_read_some(asio::buffer(piece), kAwait);
    if (failed) co_return "";
    input_.append(piece, count);
  }
  const std::string request = input_.substr(0, whole);
  input_.erase(0, whole);
  co_return request;
}

asio::awaitable<void> Peer::Send(std::string bytes) {
  co_await asio::async_write(socket_, asio::buffer(bytes), kAwait);
}

asio::awaitable<void> Peer::UntilClosed() {
  char piece[4096];
  while (true) {
    auto [error, count] = co_await socket_.async_read_some(asio::buffer(piece), kAwait);
    if (error) co_return;
  }
}

asio::awaitable<void> Peer::Wait(std::chrono::milliseconds time) {
  asio::steady_timer timer(socket_.get_executor(), time);
  co_await timer.async_wait(kAwait);
}

void Peer::Reset() {
  socket_.set_option(asio::socket_base::linger(true, 0));
  socket_.close();
}

ScriptedServer::ScriptedServer(asio::io_context& loop, std::vector<Script> scripts)
    : loop_(loop),
      scripts_(std::move(scripts)),
      acceptor_(loop, asio::ip::tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0)),
      port_(acceptor_.local_endpoint().port()) {
  asio::co_spawn(loop_, Accept(), asio::detached);
}

UpstreamAddress ScriptedServer::address() const { return UpstreamAddress{"127.0.0.1", port_, ""}; }

asio::awaitable<void> ScriptedServer::Accept() {
  while (true) {
    auto [error, socket] = co_await acceptor_.async_accept(kAwait);
    if (error) co_return;
    const size_t index = std::min<size_t>(connections_++, scripts_.size() - 1);
    asio::co_spawn(loop_, Play(scripts_[index], std::move(socket)), asio::detached);
  }
}

ScriptedServer::Script Always(std::string answer) {
  return [answer](Peer& peer) -> asio::awaitable<void> {
    while (!(co_await peer.Request()).empty()) co_await peer.Send(answer);
  };
}

ScriptedServer::Script Once(std::string answer) {
  return [answer](Peer& peer) -> asio::awaitable<void> {
    co_await peer.Request();
    co_await peer.Send(answer);
  };
}

std::string Answer(const std::string& body, const std::string& more_headers) {
  return "HTTP/1.1 200 OK\r\n" + more_headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

asio::awaitable<Outcome> Exchange(UpstreamPool& pool, UpstreamRequest request, Duration timeout) {
  Outcome outcome;
  auto exchange = co_await pool.Send(request, timeout);
  outcome.status = exchange.status();
  if (!exchange.ok()) co_return outcome;
  auto head = co_await exchange->ReadHead(timeout);
  outcome.status = head.status();
  if (!head.ok()) co_return outcome;
  outcome.http_status = head->status;
  while (true) {
    auto piece = co_await exchange->ReadSome(timeout);
    outcome.status = piece.status();
    if (!piece.ok() || piece->empty()) break;
    outcome.body.append(piece->data(), piece->size());
  }
  co_return outcome;
}

UpstreamRequest Get(const std::string& target) {
  UpstreamRequest request;
  request.method = "GET";
  request.target = target;
  return request;
}

UpstreamRequest Post(const std::string& target, const std::string& body) {
  UpstreamRequest request;
  request.target = target;
  request.body.push_back(body);
  return request;
}

}  // namespace penstock
