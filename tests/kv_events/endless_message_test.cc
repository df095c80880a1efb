// A publisher whose message has no end: its parts are none of a batch, and the library would store them for ever.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/kv_events/socket/event_stream.h"
#include "base/clock.h"

namespace penstock {
namespace {

// The greeting of ZMTP 3.0 without security.
std::string Greeting() {
  std::string greeting(64, '\0');
  greeting.replace(0, 10, std::string("\xFF\0\0\0\0\0\0\0\x01\x7F", 10));
  greeting[10] = 3;
  greeting.replace(12, 4, "NULL");
  return greeting;
}

std::string Ready(const std::string& type) {
  const std::string body = "\x05READY\x0BSocket-Type" + std::string(3, '\0') + static_cast<char>(type.size()) + type;
  return std::string("\x04") + static_cast<char>(body.size()) + body;
}

// A peer that greets as a publisher does, and then sends parts that more follow, until nobody takes them.
class EndlessPublisher {
 public:
  explicit EndlessPublisher(std::string type) : type_(std::move(type)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_ = absl::StrCat("tcp://127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::thread([this] { Serve(); });
  }
  ~EndlessPublisher() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  const std::string& address() const { return address_; }

 private:
  static bool Send(int peer, const std::string& bytes) {
    return send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  void Serve() {
    const int peer = accept(listener_, nullptr, nullptr);
    if (peer < 0) return;
    Send(peer, Greeting() + Ready(type_));
    std::string parts;
    for (int i = 0; i < 256; ++i) parts += std::string("\x01\xFF") + std::string(255, 'x');
    while (Send(peer, parts)) continue;
    close(peer);
  }

  const std::string type_;
  const int listener_;
  std::string address_;
  std::thread thread_;
};

bool Until(EventStream& stream, const std::function<bool()>& it_is_so) {
  const Instant end = Now() + Duration::Seconds(20);
  while (Now() < end) {
    if (it_is_so()) return true;
    std::vector<zmq::pollitem_t> items;
    stream.AddTo(items);
    zmq::poll(items, std::chrono::milliseconds(5));
  }
  return false;
}

TEST(EndlessMessages, TheConnectionOfAPublisherWithoutAnEndIsClosed) {
  zmq::context_t context;
  EndlessPublisher publisher("PUB");
  auto stream = EventStream::Open(context, publisher.address(), "");
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE(Until(*stream, [&] { return stream->TakeChange() == EventStream::Change::kEndless; }));
  EXPECT_FALSE(stream->Read());
  // Its thread ends only when nobody takes the bytes any more.
}

TEST(EndlessMessages, SoIsThatOfAReplay) {
  zmq::context_t context;
  EndlessPublisher replay("ROUTER");
  auto stream = EventStream::Open(context, "tcp://127.0.0.1:9", replay.address());
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE(Until(*stream, [&] { return stream->ReplayWasEndless(); }));
  EXPECT_FALSE(stream->ReadReplay());
}

}  // namespace
}  // namespace penstock
