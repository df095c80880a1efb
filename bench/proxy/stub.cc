// An engine that answers at once and costs next to nothing: proxy_stub PORT...
//
// The request's header `x-stub: EVENTS,INTERVAL_US` chooses the answer. 0 events are a small JSON answer. Otherwise the
// answer is a stream of that many events, the first at once and then one per interval. All streams of one interval are
// in step, as an engine's batch is. Where a proxy drops the header, the same at the end of the prompt counts. Every GET
// is answered with a list of one model: "stub", or "parked" at the last of several ports.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "bench/proxy/wire.h"

namespace penstock::proxy_bench {
namespace {

constexpr std::string_view kStub = R"({"object":"list","data":[{"id":"stub","object":"model"}]})";
constexpr std::string_view kParked = R"({"object":"list","data":[{"id":"parked","object":"model"}]})";
constexpr std::string_view kAnswer =
    R"({"id":"chatcmpl-5f0c2d","object":"chat.completion","created":1760000000,"model":"stub","choices":[{"index":0,)"
    R"("message":{"role":"assistant","content":"Certainly."},"logprobs":null,"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":200,"total_tokens":203,"completion_tokens":3}})";
constexpr std::string_view kChunkHead =
    R"(data: {"id":"chatcmpl-5f0c2d","object":"chat.completion.chunk","created":1760000000,"model":"stub","choices":[)";
constexpr size_t kTail = 1024;  // Last bytes of the body: enough to see a router's additions.
constexpr std::string_view kOrderInBody = "x-stub ";

struct Stream {
  int64_t left = 0;
  int64_t interval = 0;
  int64_t due = 0;
};

struct Connection {
  int socket = -1;
  bool listener = false;
  std::string_view models;  // The answer to a GET.
  bool wants_usage = false;
  bool ordered = false;  // The header gave the order.
  std::string head;
  int64_t body_left = -1;  // -1: in the head.
  std::string tail;
  std::string_view kind;
  int64_t events = 0;
  int64_t interval = 0;
  bool get = false;
  Stream stream;
};

std::string Chunk(std::string_view text) {
  char size[16];
  std::snprintf(size, sizeof(size), "%zx\r\n", text.size());
  return size + std::string(text) + "\r\n";
}

std::string Event(std::string_view choice) { return Chunk(std::string(kChunkHead) + std::string(choice) + "]}\n\n"); }

const std::string kEvent = Event(R"({"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null})");
const std::string kFinish = Event(R"({"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop"})");
const std::string kUsage =
    Chunk(std::string(kChunkHead) + R"(],"usage":{"prompt_tokens":200,"total_tokens":300,"completion_tokens":100}})" +
          "\n\n");
const std::string kEnd = Chunk("data: [DONE]\n\n") + "0\r\n\r\n";

class Stub {
 public:
  Stub() : epoll_(epoll_create1(0)) { RaiseDescriptorLimit(); }

  // The last port of several is that of the other model.
  void Listen(int port, bool parked) {
    auto* listener = new Connection;
    listener->listener = true;
    listener->models = parked ? kParked : kStub;
    listener->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int on = 1;
    setsockopt(listener->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const sockaddr_in address = Loopback(port);
    if (bind(listener->socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) Die("bind");
    if (listen(listener->socket, 4096) != 0) Die("listen");
    Watch(epoll_, listener->socket, listener);
  }

  void Run() {
    std::array<epoll_event, 512> events{};
    while (true) {
      const int count = epoll_wait(epoll_, events.data(), events.size(), Timeout());
      for (int i = 0; i < count; ++i) {
        auto* connection = static_cast<Connection*>(events[i].data.ptr);
        connection->listener ? Accept(*connection) : Read(connection);
      }
      Step();
    }
  }

 private:
  int Timeout() const {
    if (due_.empty()) return -1;
    return static_cast<int>(std::clamp<int64_t>((due_.begin()->first - NowMicros() + 999) / 1000, 0, 1000));
  }

  void Accept(const Connection& listener) {
    while (true) {
      const int socket = accept4(listener.socket, nullptr, nullptr, SOCK_NONBLOCK);
      if (socket < 0) return;
      NoDelay(socket);
      auto* connection = new Connection;
      connection->socket = socket;
      connection->models = listener.models;
      Watch(epoll_, socket, connection);
    }
  }

  void Close(Connection* connection) {
    if (connection->stream.left > 0) due_.erase({connection->stream.due, connection});
    close(connection->socket);
    delete connection;
  }

  void Read(Connection* connection) {
    const ssize_t count = recv(connection->socket, scratch_.data(), scratch_.size(), 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return Close(connection);
    std::string_view bytes(scratch_.data(), static_cast<size_t>(count));
    while (!bytes.empty()) Take(*connection, bytes);
  }

  void Take(Connection& connection, std::string_view& bytes) {
    if (connection.body_left < 0) {
      connection.head.append(bytes);
      const size_t end = connection.head.find("\r\n\r\n");
      if (end == std::string::npos) {
        bytes = {};
        return;
      }
      bytes.remove_prefix(bytes.size() - (connection.head.size() - end - 4));
      connection.head.resize(end + 2);
      ReadHead(connection);
    }
    const auto taken = static_cast<size_t>(std::min<int64_t>(connection.body_left, static_cast<int64_t>(bytes.size())));
    connection.tail.append(bytes.substr(taken - std::min(taken, kTail), std::min(taken, kTail)));
    bytes.remove_prefix(taken);
    connection.body_left -= static_cast<int64_t>(taken);
    if (connection.body_left == 0) Answer(connection);
  }

  static void ReadHead(Connection& connection) {
    const std::string_view order = HeaderValue(connection.head, "x-stub");
    connection.get = connection.head.starts_with("GET");
    connection.ordered = !order.empty();
    Obey(connection, order);
    connection.body_left = NumberAt(HeaderValue(connection.head, "content-length"));
    connection.tail.clear();
  }

  static void Obey(Connection& connection, std::string_view order) {
    const size_t comma = order.find(',');
    connection.events = NumberAt(order.substr(0, comma));
    connection.interval = comma == std::string_view::npos ? 0 : NumberAt(order.substr(comma + 1));
  }

  void Answer(Connection& connection) {
    if (const size_t at = connection.tail.find(kOrderInBody); !connection.ordered && at != std::string::npos) {
      Obey(connection, std::string_view(connection.tail).substr(at + kOrderInBody.size()));
    }
    connection.wants_usage = connection.tail.find("include_usage") != std::string::npos;
    connection.body_left = -1;
    connection.head.clear();
    connection.tail.clear();
    if (connection.get || connection.events == 0) {
      const std::string_view body = connection.get ? connection.models : kAnswer;
      Send(connection, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " +
                           std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
      return;
    }
    connection.stream = {connection.events, std::max<int64_t>(1, connection.interval), NowMicros()};
    Send(connection,
         "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
    Advance(connection);
  }

  void Step() {
    const int64_t now = NowMicros();
    while (!due_.empty() && due_.begin()->first <= now) {
      Connection* connection = due_.begin()->second;
      due_.erase(due_.begin());
      Advance(*connection);
    }
  }

  void Advance(Connection& connection) {
    Stream& stream = connection.stream;
    if (--stream.left == 0) {
      return Send(connection, kEvent + kFinish + (connection.wants_usage ? kUsage : std::string()) + kEnd);
    }
    Send(connection, kEvent);
    stream.due = (stream.due / stream.interval + 1) * stream.interval;
    due_.insert({stream.due, &connection});
  }

  // A reader that lags so far behind that the socket is full breaks the measurement: say so.
  void Send(const Connection& connection, std::string_view bytes) {
    const ssize_t sent = send(connection.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0 && sent < static_cast<ssize_t>(bytes.size()))
      std::fputs("proxy_stub: a reader is too slow\n", stderr);
  }

  int epoll_;
  std::array<char, 256 << 10> scratch_{};
  std::set<std::pair<int64_t, Connection*>> due_;
};

}  // namespace
}  // namespace penstock::proxy_bench

int main(int argc, char** argv) {
  static penstock::proxy_bench::Stub stub;
  for (int i = 1; i < argc; ++i) stub.Listen(std::atoi(argv[i]), i > 1 && i == argc - 1);
  stub.Run();
}
