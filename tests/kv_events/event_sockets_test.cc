#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "backends/kv_events/socket/event_frames.h"
#include "backends/kv_events/socket/event_publisher.h"
#include "backends/kv_events/socket/event_stream.h"
#include "base/clock.h"

namespace penstock {
namespace {

// A free port of this machine. The socket is closed at once, which ZeroMQ does later.
std::string FreeAddress() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(probe);
  return absl::StrCat("tcp://127.0.0.1:", ntohs(address.sin_port));
}

class EventSockets : public ::testing::Test {
 protected:
  EventSockets() : events_(FreeAddress()), replay_(FreeAddress()) {
    publisher_ = *EventPublisher::Bind(events_, replay_);
    auto stream = EventStream::Open(context_, events_, replay_);
    stream_.emplace(*std::move(stream));
  }
  // Looks again and again until it is so.
  bool Until(const std::function<bool()>& it_is_so) {
    const Instant end = Now() + Duration::Seconds(20);
    while (Now() < end) {
      if (it_is_so()) return true;
      std::vector<zmq::pollitem_t> items;
      if (stream_) stream_->AddTo(items);
      zmq::poll(items, std::chrono::milliseconds(10));
    }
    return false;
  }
  void Connect() {
    ASSERT_TRUE(Until([this] { return stream_->TakeChange() == EventStream::Change::kConnected; }));
    // The subscription reaches the publisher behind the connection: the first batch may be missed.
    ASSERT_TRUE(Until([this] {
      publisher_->Publish({});
      return stream_->Read().has_value();
    }));
  }
  // The library sees the end of a connection once its queue has room again: what came before it is read.
  bool EndIsNoticed() {
    return Until([this] {
      while (stream_->Read()) continue;
      return stream_->TakeChange() == EventStream::Change::kDisconnected;
    });
  }
  std::optional<EventMessage> Next() {
    std::optional<EventMessage> message;
    Until([&] { return (message = stream_->Read()).has_value(); });
    return message;
  }

  zmq::context_t context_;
  const std::string events_, replay_;
  std::unique_ptr<EventPublisher> publisher_;
  std::optional<EventStream> stream_;
};

TEST(EventFrames, NumbersAreEightBytes) {
  EXPECT_EQ(NumberFrame(258), std::string("\0\0\0\0\0\0\1\2", 8));
  EXPECT_EQ(NumberOfFrame(NumberFrame(kReplayEnd)), kReplayEnd);
  EXPECT_EQ(NumberOfFrame("1234567"), std::nullopt);
}

TEST_F(EventSockets, BatchesArriveWithTheirNumbers) {
  Connect();
  KvBatch batch;
  batch.events = {{KvEventKind::kRemoved, {42}}};
  publisher_->Publish(batch);
  std::optional<EventMessage> message = Next();
  while (message && DecodeKvBatch(message->batch)->events.empty()) message = Next();
  ASSERT_TRUE(message);
  EXPECT_EQ(DecodeKvBatch(message->batch)->events, batch.events);
}

TEST_F(EventSockets, AReplayHasAllBatchesFromItsNumberOnAndAnEnd) {
  for (int i = 0; i < 5; ++i) publisher_->Publish({});
  ASSERT_TRUE(stream_->AskFrom(3));
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(Until([&] {
    publisher_->ServeReplays();
    while (const auto message = stream_->ReadReplay()) {
      if (message->last) return true;
      numbers.push_back(message->number);
    }
    return false;
  }));
  EXPECT_EQ(numbers, (std::vector<uint64_t>{3, 4}));
}

TEST_F(EventSockets, TheEndOfAPublisherIsNoticed) {
  Connect();
  // More than the library's queue holds.
  for (int i = 0; i < 4 * EventStream::kMostQueued; ++i) publisher_->Publish({});
  publisher_.reset();
  EXPECT_TRUE(EndIsNoticed());
}

TEST_F(EventSockets, APublisherThatComesLateOrAgainIsFollowed) {
  Connect();
  for (int i = 0; i < 3; ++i) {
    publisher_.reset();
    ASSERT_TRUE(EndIsNoticed());
    publisher_ = *EventPublisher::Bind(events_, replay_);
    ASSERT_TRUE(Until([this] {
      stream_->KeepConnected(Now());
      return stream_->TakeChange() == EventStream::Change::kConnected;
    }));
    ASSERT_TRUE(Until([this] {
      publisher_->Publish({});
      return stream_->Read().has_value();
    }));
  }
}

TEST_F(EventSockets, MessagesThatAreNoBatchesAreToldApart) {
  stream_.reset();
  const std::string address = FreeAddress();
  zmq::socket_t liar(context_, zmq::socket_type::pub);
  liar.bind(address);
  stream_.emplace(*EventStream::Open(context_, address, ""));
  ASSERT_TRUE(Until([this] { return stream_->TakeChange() == EventStream::Change::kConnected; }));
  EXPECT_TRUE(Until([&] {
    liar.send(zmq::str_buffer("nonsense"), zmq::send_flags::dontwait);
    const auto message = stream_->Read();
    return message && !message->whole;
  }));
}

// The process may open no further descriptor while it lives.
class ShortDescriptors {
 public:
  ShortDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few{3, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~ShortDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  ShortDescriptors(const ShortDescriptors&) = delete;
  ShortDescriptors& operator=(const ShortDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(EventSockets, WithoutDescriptorsNothingOpensAndNothingEnds) {
  Connect();
  zmq::context_t unused;
  {
    const ShortDescriptors few;
    EXPECT_FALSE(EventStream::Open(unused, events_, replay_).ok());
    stream_->ForgetReplay();
    EXPECT_FALSE(stream_->AskFrom(0));
    EXPECT_FALSE(stream_->ReadReplay().has_value());
  }
  ASSERT_TRUE(Until([this] {
    stream_->ForgetReplay();
    return stream_->AskFrom(0);
  }));
  EXPECT_TRUE(Until([this] {
    publisher_->ServeReplays();
    const auto message = stream_->ReadReplay();
    return message && message->last;
  }));
}

TEST_F(EventSockets, AnAddressThatIsNoneIsAnError) {
  EXPECT_FALSE(EventStream::Open(context_, "tcp://", "").ok());
  EXPECT_FALSE(EventPublisher::Bind(events_, "").ok());
}

}  // namespace
}  // namespace penstock
