#include "backends/kv_events/socket/event_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <zmq_addon.hpp>

#include "absl/strings/str_cat.h"
#include "backends/kv_events/event_batch.h"
#include "backends/kv_events/socket/event_frames.h"

namespace penstock {
namespace {

// A publisher that says nothing for so long is asked by the system whether it is there, and so often.
constexpr int kKeepAliveSeconds = 2;
constexpr int kKeepAliveTries = 3;
constexpr Duration kFirstPause = Duration::Milliseconds(250);
constexpr Duration kLongestPause = Duration::Seconds(5);

void SetUp(zmq::socket_t& socket, int most_queued) {
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvhwm, most_queued);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(kMostBatchBytes));
  socket.set(zmq::sockopt::ipv6, 1);
  // A publisher whose machine is gone. Rejected: the library's heartbeats. They end a connection whose queue is full,
  // and its next one then fails an assertion of the library (libzmq issue 3937).
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, kKeepAliveSeconds);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, kKeepAliveSeconds);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, kKeepAliveTries);
  // Never by the library: a queue that outlives its connection fails the same assertion.
  socket.set(zmq::sockopt::reconnect_ivl, -1);
}

}  // namespace

absl::StatusOr<EventStream> EventStream::Open(zmq::context_t& context, const std::string& events,
                                              const std::string& replay) {
  try {
    EventStream stream;
    stream.context_ = &context;
    stream.events_address_ = events;
    stream.replay_address_ = replay;
    stream.Connect();
    if (!replay.empty()) stream.OpenReplay();
    return stream;
  } catch (const zmq::error_t& error) {
    return absl::InvalidArgumentError(absl::StrCat(events, ": ", error.what()));
  }
}

EventStream::~EventStream() { StopReports(); }

void EventStream::StopReports() {
  if (events_.handle() != nullptr) zmq_socket_monitor(events_.handle(), nullptr, 0);
}

void EventStream::Connect() {
  static int connections = 0;  // One thread opens all of them.
  StopReports();
  events_ = zmq::socket_t(*context_, zmq::socket_type::sub);
  SetUp(events_, kMostQueued);
  events_.set(zmq::sockopt::subscribe, "");
  const std::string changes = absl::StrCat("inproc://kv-events-", ++connections);
  const int kinds = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;
  if (zmq_socket_monitor(events_.handle(), changes.c_str(), kinds) != 0) throw zmq::error_t();
  changes_ = zmq::socket_t(*context_, zmq::socket_type::pair);
  changes_.set(zmq::sockopt::linger, 0);
  changes_.connect(changes);
  events_.connect(events_address_);
}

void EventStream::KeepConnected(Instant now) {
  if (connected_) {
    retry_at_.reset();
    pause_ = kFirstPause;
    return;
  }
  if (!retry_at_) retry_at_ = now + pause_;
  if (now < *retry_at_) return;
  pause_ = std::min(kLongestPause, pause_ * 2);
  retry_at_ = now + pause_;
  try {
    Connect();
  } catch (const zmq::error_t&) {
    // Descriptors are short: the next pause ends.
  }
}

void EventStream::OpenReplay() {
  replay_.emplace(*context_, zmq::socket_type::dealer);
  SetUp(*replay_, kMostReplayed);
  replay_->set(zmq::sockopt::sndhwm, 4);
  replay_->connect(replay_address_);
}

void EventStream::ForgetReplay() {
  if (replay_) OpenReplay();
}

EventStream::Change EventStream::TakeChange() {
  Change change = Change::kNone;
  zmq::message_t kind;
  while (changes_.recv(kind, zmq::recv_flags::dontwait)) {
    uint16_t number = 0;
    if (kind.size() >= sizeof(number)) std::memcpy(&number, kind.data(), sizeof(number));
    if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) change = Change::kConnected;
    if (number == ZMQ_EVENT_DISCONNECTED) change = Change::kDisconnected;
    // The second frame has the address.
    while (kind.more() && changes_.recv(kind, zmq::recv_flags::dontwait)) continue;
  }
  if (change != Change::kNone) connected_ = change == Change::kConnected;
  return change;
}

bool EventStream::AskFrom(uint64_t number) {
  if (!replay_) return false;
  // A request has an empty frame first, as that of a REQ socket.
  if (!replay_->send(zmq::message_t(), zmq::send_flags::dontwait | zmq::send_flags::sndmore)) return false;
  return replay_->send(zmq::buffer(NumberFrame(number)), zmq::send_flags::dontwait).has_value();
}

std::optional<EventMessage> EventStream::ReadFrom(zmq::socket_t& socket) {
  std::vector<zmq::message_t> frames;
  if (!zmq::recv_multipart(socket, std::back_inserter(frames), zmq::recv_flags::dontwait)) return std::nullopt;
  // Topic, number, batch; a replay has an empty frame before them, and older publishers leave the topic out.
  EventMessage message;
  if (frames.size() < 2) return message;
  const std::optional<uint64_t> number = NumberOfFrame(frames[frames.size() - 2].to_string_view());
  if (!number) return message;
  message.number = *number;
  message.last = *number == kReplayEnd;
  message.whole = true;
  if (!message.last) message.batch = frames.back().to_string();
  return message;
}

void EventStream::AddTo(std::vector<zmq::pollitem_t>& items) {
  items.push_back({events_.handle(), 0, ZMQ_POLLIN, 0});
  items.push_back({changes_.handle(), 0, ZMQ_POLLIN, 0});
  if (replay_) items.push_back({replay_->handle(), 0, ZMQ_POLLIN, 0});
}

}  // namespace penstock
