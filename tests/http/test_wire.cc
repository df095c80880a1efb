#include "tests/http/test_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

int Remaining(Clock::time_point end) {
  return std::max<int>(
      0, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count()));
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The read chunks leave the buffer together. A move of the buffer per chunk keeps the client from reading for too long.
void ReadChunks(Wire& wire, WireMessage& message, std::chrono::milliseconds patience) {
  size_t at = 0;
  while (!message.complete) {
    const size_t line_end = wire.ReadUntil("\r\n", patience, at);
    if (line_end == std::string::npos) break;
    const size_t size = std::stoul(wire.buffer().substr(at, line_end - at), nullptr, 16);
    const size_t end = line_end + 2 + size + 2;
    while (wire.buffer().size() < end && wire.ReadMore(patience)) {
    }
    if (wire.buffer().size() < end) break;
    message.body.append(wire.buffer(), line_end + 2, size);
    message.complete = size == 0;
    at = end;
  }
  wire.buffer().erase(0, at);
}

}  // namespace

std::unique_ptr<Wire> Wire::Connect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return nullptr;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return std::make_unique<Wire>(fd);
}

Wire::~Wire() { Close(); }

void Wire::BoundReceived(int bytes) { setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)); }

void Wire::Shutdown() {
  std::lock_guard lock(closing_);
  if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
}

void Wire::Close() {
  std::lock_guard lock(closing_);
  if (fd_ >= 0) {
    shutdown(fd_, SHUT_RDWR);
    close(fd_);
  }
  fd_ = -1;
}

bool Wire::Send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

bool Wire::ReadMore(std::chrono::milliseconds patience) {
  pollfd wait{fd_, POLLIN, 0};
  if (fd_ < 0 || poll(&wait, 1, static_cast<int>(patience.count())) <= 0) return false;
  std::array<char, 16384> bytes;
  const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
  if (count <= 0) return false;
  buffer_.append(bytes.data(), static_cast<size_t>(count));
  return true;
}

size_t Wire::ReadUntil(const std::string& text, std::chrono::milliseconds patience, size_t from) {
  const Clock::time_point end = Clock::now() + patience;
  for (size_t seen = from;;) {
    const size_t found = buffer_.find(text, seen);
    if (found != std::string::npos) return found;
    seen = std::max(from, buffer_.size() - std::min(buffer_.size(), text.size() - 1));
    if (!ReadMore(std::chrono::milliseconds(Remaining(end)))) return std::string::npos;
  }
}

bool Wire::WaitClosed(std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  while (Clock::now() < end) {
    pollfd wait{fd_, POLLIN, 0};
    if (poll(&wait, 1, Remaining(end)) <= 0) return false;
    std::array<char, 4096> bytes;
    if (recv(fd_, bytes.data(), bytes.size(), 0) <= 0) return true;
  }
  return false;
}

int WireMessage::status() const { return start.size() > 12 ? std::stoi(start.substr(9, 3)) : 0; }

std::string WireMessage::target() const {
  const size_t first = start.find(' ');
  return start.substr(first + 1, start.find(' ', first + 1) - first - 1);
}

WireMessage ReadMessage(Wire& wire, std::chrono::milliseconds patience) {
  WireMessage message;
  const size_t head_end = wire.ReadUntil("\r\n\r\n", patience);
  if (head_end == std::string::npos) return message;
  const std::string head = wire.buffer().substr(0, head_end + 2);
  wire.buffer().erase(0, head_end + 4);
  size_t line = head.find("\r\n");
  message.start = head.substr(0, line);
  while (line + 2 < head.size()) {
    const size_t next = head.find("\r\n", line + 2);
    const std::string field = head.substr(line + 2, next - line - 2);
    const size_t colon = field.find(':');
    const size_t value = field.find_first_not_of(' ', colon + 1);
    message.headers[Lower(field.substr(0, colon))] = value == std::string::npos ? "" : field.substr(value);
    line = next;
  }
  if (message.headers["transfer-encoding"] == "chunked") {
    ReadChunks(wire, message, patience);
    return message;
  }
  const std::string length = message.headers["content-length"];
  const size_t size = length.empty() ? 0 : std::stoul(length);
  while (wire.buffer().size() < size) {
    if (!wire.ReadMore(patience)) break;
  }
  message.complete = wire.buffer().size() >= size;
  message.body = wire.buffer().substr(0, size);
  wire.buffer().erase(0, size);
  return message;
}

std::string PostJson(const std::string& path, const std::string& body, const std::string& more_headers) {
  return "POST " + path +
         " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + more_headers + "\r\n" + body;
}

std::string Get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n"; }

void EngineCall::Answer(int status, const std::string& body, const std::string& content_type) {
  wire.Send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + content_type +
            "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

void EngineCall::BeginStream() {
  wire.Send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void EngineCall::Chunk(const std::string& data) {
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", data.size());
  wire.Send(size + data + "\r\n");
}

void EngineCall::EndStream() {
  Chunk("data: [DONE]\n\n");
  wire.Send("0\r\n\r\n");
}

std::map<std::string, std::string> ScriptedEngine::DefaultPages() {
  return {{"/v1/models", R"({"object":"list","data":[{"id":"m","object":"model","max_model_len":4096}]})"},
          {"/health", "{}"}};
}

ScriptedEngine::ScriptedEngine(Script script, std::map<std::string, std::string> pages, uint16_t port)
    : script_(std::move(script)), pages_(std::move(pages)) {
  listen_fd_ = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listen_fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listen_fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(listen_fd_, 128) != 0) {
    std::perror("a scripted engine cannot listen");
    std::abort();
  }
  socklen_t size = sizeof(address);
  getsockname(listen_fd_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedEngine::~ScriptedEngine() {
  stopped_ = true;
  shutdown(listen_fd_, SHUT_RDWR);
  acceptor_.join();
  close(listen_fd_);
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    for (const auto& weak : wires_) {
      if (const auto wire = weak.lock()) wire->Shutdown();
    }
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::string ScriptedEngine::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void ScriptedEngine::Accept() {
  while (!stopped_) {
    const int fd = accept(listen_fd_, nullptr, nullptr);
    if (fd < 0) return;
    auto wire = std::make_shared<Wire>(fd);
    std::lock_guard lock(mutex_);
    wires_.push_back(wire);
    threads_.emplace_back([this, wire] { Serve(wire); });
  }
}

void ScriptedEngine::Serve(const std::shared_ptr<Wire>& wire) {
  while (!stopped_) {
    EngineCall call{*wire, ReadMessage(*wire, std::chrono::milliseconds(60'000))};
    if (call.request.start.empty()) return;
    const std::optional<std::string> page = PageOf(call.request.target());
    if (call.request.start.substr(0, 4) == "POST" && !page) {
      ++calls_;
      script_(call);
      continue;
    }
    call.Answer(page ? 200 : 404, page.value_or("{}"));
  }
}

void ScriptedEngine::SetPage(const std::string& target, std::string body) {
  std::lock_guard lock(mutex_);
  pages_[target] = std::move(body);
}

void ScriptedEngine::RemovePage(const std::string& target) {
  std::lock_guard lock(mutex_);
  pages_.erase(target);
}

std::optional<std::string> ScriptedEngine::PageOf(const std::string& target) {
  std::lock_guard lock(mutex_);
  const auto page = pages_.find(target);
  return page == pages_.end() ? std::nullopt : std::optional(page->second);
}

void Latch::Set() {
  std::lock_guard lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

bool Latch::Wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return set_; });
}

bool Eventually(const std::function<bool()>& condition, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  while (!condition()) {
    if (Clock::now() >= end) return false;
    std::this_thread::yield();
    poll(nullptr, 0, 2);
  }
  return true;
}

}  // namespace penstock
