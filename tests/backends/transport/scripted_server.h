// A raw TCP server on a free port of 127.0.0.1 that plays a script per connection, on the test's own loop.
#ifndef PENSTOCK_TESTS_BACKENDS_TRANSPORT_SCRIPTED_SERVER_H_
#define PENSTOCK_TESTS_BACKENDS_TRANSPORT_SCRIPTED_SERVER_H_

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/transport/upstream.h"

namespace penstock {

// The server's side of one connection.
class Peer {
 public:
  explicit Peer(boost::asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}
  // A whole request (head, and body by Content-Length); empty when the client closed.
  boost::asio::awaitable<std::string> Request();
  boost::asio::awaitable<void> Send(std::string bytes);
  // Returns when the client has closed.
  boost::asio::awaitable<void> UntilClosed();
  boost::asio::awaitable<void> Wait(std::chrono::milliseconds time);
  void Close() { socket_.close(); }
  void Reset();  // RST instead of FIN.

 private:
  boost::asio::ip::tcp::socket socket_;
  std::string input_;
};

class ScriptedServer {
 public:
  using Script = std::function<boost::asio::awaitable<void>(Peer&)>;

  // The n-th connection plays the n-th script, later ones the last. A script's end closes its connection.
  ScriptedServer(boost::asio::io_context& loop, std::vector<Script> scripts);
  UpstreamAddress address() const;
  int connections() const { return connections_; }
  void StopListening() { acceptor_.close(); }

 private:
  boost::asio::awaitable<void> Accept();

  boost::asio::io_context& loop_;
  std::vector<Script> scripts_;
  boost::asio::ip::tcp::acceptor acceptor_;
  uint16_t port_;
  int connections_ = 0;
};

// Answers every request on a connection with these bytes.
ScriptedServer::Script Always(std::string answer);
// Answers one request with these bytes and closes.
ScriptedServer::Script Once(std::string answer);
std::string Answer(const std::string& body, const std::string& more_headers = "");

// Runs the loop until `work` ends; fails the test after 10 s.
template <class T>
T RunToEnd(boost::asio::io_context& loop, boost::asio::awaitable<T> work) {
  auto result = std::make_shared<std::optional<T>>();
  boost::asio::co_spawn(loop, std::move(work), [result](std::exception_ptr error, T value) {
    if (error) std::rethrow_exception(error);
    result->emplace(std::move(value));
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  loop.restart();
  while (!*result && std::chrono::steady_clock::now() < limit) loop.run_one_for(std::chrono::milliseconds(100));
  if (!*result) throw std::runtime_error("the exchange did not end within a minute");
  return std::move(**result);
}

// The result of one request.
struct Outcome {
  absl::Status status;  // The status of the first step that failed.
  int http_status = 0;
  std::string body;
};
boost::asio::awaitable<Outcome> Exchange(UpstreamPool& pool, UpstreamRequest request,
                                         Duration timeout = Duration::Seconds(5));
UpstreamRequest Get(const std::string& target);
// `body` must outlive the exchange.
UpstreamRequest Post(const std::string& target, const std::string& body);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_BACKENDS_TRANSPORT_SCRIPTED_SERVER_H_
