// An OpenAI endpoint on loopback that answers by a script, for tests of the load client.
#ifndef PENSTOCK_TESTS_BENCH_SCRIPTED_ENDPOINT_H_
#define PENSTOCK_TESTS_BENCH_SCRIPTED_ENDPOINT_H_

#include <atomic>
#include <boost/asio.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/load/load_target.h"

namespace penstock::bench {

struct Seen {
  std::string head;
  std::string body;
  int connection = 0;
  bool Has(const std::string& text) const { return head.find(text) != std::string::npos; }
};

// Answers each request on 127.0.0.1 with the bytes that its script returns; "" closes the connection. One thread per
// connection.
class ScriptedServer {
 public:
  using Script = std::function<std::string(const Seen&)>;
  explicit ScriptedServer(Script script)
      : script_(std::move(script)),
        acceptor_(loop_, boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    accepting_ = std::thread([this] { Accept(); });
  }
  ~ScriptedServer() {
    closing_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket wake(loop_);
    wake.connect(acceptor_.local_endpoint(), ignored);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (auto& socket : sockets_) socket->shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  LoadTarget Target() const {
    return *ParseLoadTarget("http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()));
  }
  std::vector<Seen> Requests() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void Accept() {
    for (int connection = 1;; ++connection) {
      auto socket = std::make_shared<boost::asio::ip::tcp::socket>(loop_);
      acceptor_.accept(*socket);
      if (closing_) return;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket, connection] { Serve(*socket, connection); });
    }
  }
  void Serve(boost::asio::ip::tcp::socket& socket, int connection) {
    std::string buffer;
    boost::system::error_code error;
    while (true) {
      const size_t head_size = boost::asio::read_until(socket, boost::asio::dynamic_buffer(buffer), "\r\n\r\n", error);
      if (error) return;
      Seen seen{buffer.substr(0, head_size), "", connection};
      size_t length = 0;
      const size_t at = seen.head.find("Content-Length: ");
      if (at != std::string::npos) length = std::stoul(seen.head.substr(at + 16));
      if (buffer.size() < head_size + length) {
        boost::asio::read(socket, boost::asio::dynamic_buffer(buffer),
                          boost::asio::transfer_exactly(head_size + length - buffer.size()), error);
        if (error) return;
      }
      seen.body = buffer.substr(head_size, length);
      buffer.erase(0, head_size + length);
      const std::string answer = script_(seen);
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(seen);
      }
      if (!answer.empty()) boost::asio::write(socket, boost::asio::buffer(answer), error);
      if (answer.empty() || error) {
        socket.shutdown(boost::asio::ip::tcp::socket::shutdown_both, error);
        return;
      }
    }
  }

  Script script_;
  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> closing_{false};
  std::mutex mutex_;
  std::vector<Seen> seen_;
  std::vector<std::shared_ptr<boost::asio::ip::tcp::socket>> sockets_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

inline std::string Chunked(const std::vector<std::string>& pieces) {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& piece : pieces) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    text += size + piece + "\r\n";
  }
  return text + "0\r\n\r\n";
}

inline std::string TokenEvent(const std::string& text) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"},\"finish_reason\":null}]}\n\n";
}

inline constexpr char kStop[] =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

inline std::string Json(int status, const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// An endpoint with models and without metrics; `chat` answers the chats.
inline ScriptedServer::Script WithChat(std::function<std::string(const Seen&)> chat) {
  return [chat = std::move(chat)](const Seen& seen) {
    if (seen.Has("GET /metrics")) return Json(404, "{}");
    if (seen.Has("GET /v1/models")) return Json(200, R"({"object":"list","data":[{"id":"served-model"}]})");
    return chat(seen);
  };
}

}  // namespace penstock::bench

#endif  // PENSTOCK_TESTS_BENCH_SCRIPTED_ENDPOINT_H_
