// Load for the proxy benchmark, and the CPU time that others spent on it: proxy_client --port P --mode MODE ...
//
//   short   small requests over keep-alive connections, closed loop, or open loop with --rate
//   stream  --connections streams; once all run, their events are counted for --seconds
//   hold    --connections streams that stay open until a line comes on stdin; prints when all have their first event
//
// --pid (repeatable) names processes whose CPU time within the measured window is printed. One JSON line on stdout.
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "bench/proxy/client_figures.h"
#include "bench/proxy/client_options.h"
#include "bench/proxy/wire.h"

namespace penstock::proxy_bench {
namespace {

struct Connection {
  int socket = -1;
  bool busy = false;
  int64_t began = 0;
  int64_t last_event = 0;
  int events = 0;
  std::string head;  // The head's bytes while it is incomplete.
  int64_t left = 0;  // Bytes left of a body with a length.
  bool in_body = false;
  bool chunked = false;
  bool newline = false;  // The last byte was one.
  std::string tail;      // Last bytes of a chunked body.
};

class Client {
 public:
  explicit Client(Options options) : options_(std::move(options)), epoll_(epoll_create1(0)), figures_(options_.pids) {
    RaiseDescriptorLimit();
    request_ = RequestText(options_);
  }

  int Run() {
    for (int i = 0; i < options_.connections; ++i) Connect();
    if (options_.mode == "short") {
      RunShort();
    } else if (options_.mode == "stream") {
      RunStreams();
    } else {
      RunHold();
    }
    figures_.Print();
    return figures_.errors > 0 ? 1 : 0;
  }

 private:
  void Connect() {
    auto connection = std::make_unique<Connection>();
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = Loopback(options_.port);
    if (connect(connection->socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) Die("connect");
    NoDelay(connection->socket);
    Watch(epoll_, connection->socket, connection.get());
    idle_.push_back(connection.get());
    connections_.push_back(std::move(connection));
  }

  // Blocking: a body that does not fit the socket's buffer is the peer's to take.
  void Send(Connection& connection, int64_t began) {
    connection.busy = true;
    connection.began = began;
    connection.last_event = 0;
    connection.events = 0;
    size_t sent = 0;
    while (sent < request_.size()) {
      const ssize_t count = send(connection.socket, request_.data() + sent, request_.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return Fail(connection);
      sent += static_cast<size_t>(count);
    }
  }

  void Fail(Connection& connection) {
    ++figures_.errors;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.socket, nullptr);
    close(connection.socket);
    connection.busy = false;
    connection.socket = -1;
  }

  // Waits at most until `until` and takes what has come.
  void Poll(int64_t until) {
    std::array<epoll_event, 512> ready{};
    const int64_t left = until - NowMicros();
    timespec timeout{left > 0 ? left / 1'000'000 : 0, left > 0 ? left % 1'000'000 * 1000 : 0};
    const int count = epoll_pwait2(epoll_, ready.data(), ready.size(), &timeout, nullptr);
    for (int i = 0; i < count; ++i) Read(*static_cast<Connection*>(ready[i].data.ptr));
  }

  void RunShort() {
    const int64_t warm = NowMicros() + 300'000;
    const auto end_of = [this](int64_t from) { return from + static_cast<int64_t>(options_.seconds * 1e6); };
    int64_t end = INT64_MAX;
    std::mt19937_64 random(1);
    std::exponential_distribution<double> spread(options_.rate > 0 ? options_.rate / 1e6 : 1);
    double next = static_cast<double>(NowMicros());
    while (NowMicros() < end && figures_.errors == 0 &&
           (options_.requests == 0 || figures_.requests < options_.requests)) {
      if (!figures_.measuring() && NowMicros() >= warm) {
        figures_.Begin();
        end = end_of(NowMicros());
      }
      if (options_.rate == 0) {
        for (; !idle_.empty(); idle_.pop_front()) Send(*idle_.front(), NowMicros());
        Poll(std::min(end, NowMicros() + 100'000));
        continue;
      }
      const int64_t now = NowMicros();
      for (; next <= static_cast<double>(now) && !idle_.empty(); next += spread(random)) {
        Connection* connection = idle_.front();
        idle_.pop_front();
        Send(*connection, static_cast<int64_t>(next));
      }
      Poll(idle_.empty() ? now + 1000 : static_cast<int64_t>(next));
    }
    figures_.End();
  }

  void StartStreams() {
    const int64_t limit = NowMicros() + 120'000'000;
    for (; !idle_.empty(); idle_.pop_front()) {
      Send(*idle_.front(), NowMicros());
      // At most 64 start at a time: a queue would count as time to the first byte.
      while (started_ + 64 < static_cast<int64_t>(connections_.size() - idle_.size()) && NowMicros() < limit) {
        Poll(NowMicros() + 1000);
      }
    }
    while (started_ < static_cast<int64_t>(connections_.size()) && NowMicros() < limit && figures_.errors == 0) {
      Poll(NowMicros() + 1000);
    }
  }

  void RunStreams() {
    StartStreams();
    const int64_t settle = NowMicros() + 300'000;
    while (NowMicros() < settle) Poll(settle);
    figures_.Begin();
    const int64_t end = figures_.began() + static_cast<int64_t>(options_.seconds * 1e6);
    while (NowMicros() < end && figures_.errors == 0) Poll(end);
    figures_.End();
  }

  void RunHold() {
    if (options_.model == "stub") StartStreams();
    for (; !idle_.empty(); idle_.pop_front()) Send(*idle_.front(), NowMicros());
    figures_.Begin();
    figures_.End();
    figures_.Print();
    std::fflush(stdout);
    char line[8];
    if (std::fgets(line, sizeof(line), stdin) == nullptr) return;
  }

  void Read(Connection& connection) {
    const ssize_t count = recv(connection.socket, scratch_.data(), scratch_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return Fail(connection);
    std::string_view bytes(scratch_.data(), static_cast<size_t>(count));
    if (!connection.in_body && !TakeHead(connection, bytes)) return;
    if (!bytes.empty()) TakeBody(connection, bytes);
  }

  bool TakeHead(Connection& connection, std::string_view& bytes) {
    connection.head.append(bytes);
    const size_t end = connection.head.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    bytes.remove_prefix(bytes.size() - (connection.head.size() - end - 4));
    const std::string_view head = std::string_view(connection.head).substr(0, end + 2);
    if (head.size() < 12 || head.substr(9, 3) != "200") {
      if (figures_.errors == 0) std::fprintf(stderr, "proxy_client: %s\n", connection.head.substr(0, 600).c_str());
      ++figures_.errors;
    }
    connection.chunked = !HeaderValue(head, "transfer-encoding").empty();
    connection.left = connection.chunked ? 0 : NumberAt(HeaderValue(head, "content-length"));
    connection.in_body = true;
    connection.head.clear();
    connection.tail.clear();
    return true;
  }

  void TakeBody(Connection& connection, std::string_view bytes) {
    bool ended = false;
    if (connection.chunked) {
      CountEvents(connection, bytes);
      constexpr std::string_view kLast = "\r\n0\r\n\r\n";
      connection.tail.append(bytes.substr(bytes.size() - std::min(bytes.size(), kLast.size())));
      if (connection.tail.size() > kLast.size()) connection.tail.erase(0, connection.tail.size() - kLast.size());
      ended = connection.tail == kLast;
    } else {
      connection.left -= static_cast<int64_t>(bytes.size());
      ended = connection.left <= 0;
    }
    if (ended) End(connection);
  }

  void CountEvents(Connection& connection, std::string_view bytes) {
    int events = 0;
    for (size_t at = 0; (at = bytes.find('\n', at)) != std::string_view::npos; ++at) {
      const bool second = at > 0 ? bytes[at - 1] == '\n' : connection.newline;
      events += second ? 1 : 0;
    }
    connection.newline = bytes.back() == '\n';
    if (events == 0) return;
    const int64_t now = NowMicros();
    if (connection.events == 0) {
      ++started_;
      figures_.first.push_back(static_cast<double>(now - connection.began));
    } else if (figures_.measuring()) {
      figures_.gaps.push_back(static_cast<double>(now - connection.last_event));
    }
    connection.events += events;
    connection.last_event = now;
    figures_.events += events;
  }

  void End(Connection& connection) {
    connection.in_body = false;
    connection.busy = false;
    ++figures_.requests;
    if (figures_.measuring()) figures_.latencies.push_back(static_cast<double>(NowMicros() - connection.began));
    idle_.push_back(&connection);
  }

  Options options_;
  int epoll_;
  std::string request_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Connection*> idle_;
  std::array<char, 256 << 10> scratch_{};
  int64_t started_ = 0;  // Streams that have their first event.
  Figures figures_;
};

}  // namespace
}  // namespace penstock::proxy_bench

int main(int argc, char** argv) {
  auto client = std::make_unique<penstock::proxy_bench::Client>(penstock::proxy_bench::ParseOptions(argc, argv));
  return client->Run();
}
