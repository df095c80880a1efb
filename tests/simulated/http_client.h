// A blocking HTTP client for tests of the simulated engine: whole answers, and streams read bit by bit.
#ifndef PENSTOCK_TESTS_SIMULATED_HTTP_CLIENT_H_
#define PENSTOCK_TESTS_SIMULATED_HTTP_CLIENT_H_

#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace penstock::simulated {

using Headers = std::vector<std::pair<std::string, std::string>>;

inline std::string RequestText(const std::string& method, const std::string& target, const std::string& body,
                               const Headers& headers = {}) {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct Reply {
  int status = 0;
  std::string body;
  nlohmann::json Json() const { return nlohmann::json::parse(body, nullptr, false); }
  // Data of the events, [DONE] included.
  std::vector<std::string> Events() const {
    std::vector<std::string> events;
    for (size_t at = body.find("data: "); at != std::string::npos; at = body.find("data: ", at)) {
      const size_t end = body.find("\n\n", at);
      events.push_back(body.substr(at + 6, end - at - 6));
      at = end;
    }
    return events;
  }
};

class Connection {
 public:
  explicit Connection(uint16_t port) : socket_(context_) {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port});
    socket_.set_option(boost::asio::ip::tcp::no_delay(true));
    // A test that waits for bytes that never come fails instead of hanging.
    timeval patience{20, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void Send(const std::string& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }

  Reply Receive() {
    boost::beast::http::response_parser<boost::beast::http::string_body> parser;
    parser.body_limit(boost::none);
    boost::system::error_code error;
    boost::beast::http::read(socket_, buffer_, parser, error);
    if (error) return {-1, error.message()};
    return {static_cast<int>(parser.get().result_int()), parser.get().body()};
  }

  Reply Ask(const std::string& method, const std::string& target, const std::string& body = "",
            const Headers& headers = {}) {
    Send(RequestText(method, target, body, headers));
    return Receive();
  }

  // Reads until `count` times `what` came; everything read so far in all calls.
  const std::string& ReadUntil(const std::string& what, size_t count) {
    char bytes[4096];
    for (;;) {
      size_t seen = 0;
      for (size_t at = read_.find(what); at != std::string::npos; at = read_.find(what, at + 1)) ++seen;
      if (seen >= count) return read_;
      boost::system::error_code error;
      const size_t length = socket_.read_some(boost::asio::buffer(bytes), error);
      if (error) return read_;
      read_.append(bytes, length);
    }
  }

  // True when the server closed the connection.
  bool ClosedByServer() {
    char byte;
    boost::system::error_code error;
    socket_.read_some(boost::asio::buffer(&byte, 1), error);
    return error == boost::asio::error::eof || error == boost::asio::error::connection_reset;
  }

  void Close() { socket_.close(); }

 private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  std::string read_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_TESTS_SIMULATED_HTTP_CLIENT_H_
