#include "backends/kv_events/socket/event_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/kv_events/socket/event_frames.h"

namespace penstock {
namespace {

constexpr Duration kFirstPause = Duration::Milliseconds(250);
constexpr Duration kLongestPause = Duration::Seconds(5);

// An address that is not known yet is for a later try.
void ConnectTo(const std::string& address, EventLine& line) {
  if (!address.empty()) line.Connect(address);
}

}  // namespace

absl::StatusOr<EventStream> EventStream::Open(zmq::context_t& context, const std::string& events,
                                              const std::string& replay) {
  try {
    EventStream stream(context, events, replay);
    stream.Connect();
    if (!replay.empty()) stream.OpenReplay();
    return stream;
  } catch (const zmq::error_t& error) {
    return absl::InvalidArgumentError(absl::StrCat(events, ": ", error.what()));
  }
}

void EventStream::Connect() {
  EventLine line(*context_, zmq::socket_type::sub, kMostQueued);
  line.socket().set(zmq::sockopt::subscribe, "");
  ConnectTo(events_at_.At(turn_), line);
  events_ = std::move(line);
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
  ++turn_;
  try {
    Connect();
  } catch (const zmq::error_t&) {
    return;  // Descriptors are short: the next pause ends.
  }
}

void EventStream::OpenReplay() {
  EventLine line(*context_, zmq::socket_type::dealer, kMostReplayed);
  line.socket().set(zmq::sockopt::sndhwm, 4);
  ConnectTo(replay_at_.At(turn_), line);
  replay_ = std::move(line);
}

void EventStream::ForgetReplay() {
  if (!replays_) return;
  replay_.reset();
  try {
    OpenReplay();
  } catch (const zmq::error_t&) {
    return;  // Descriptors are short: the next request finds some, or its timeout.
  }
}

bool EventStream::ReplayWasEndless() { return replay_ && replay_->TakeChange() == Change::kEndless; }

EventStream::Change EventStream::TakeChange() {
  const Change change = events_->TakeChange();
  if (change != Change::kNone) connected_ = change == Change::kConnected;
  return change;
}

bool EventStream::AskFrom(uint64_t number) {
  if (!replay_) return false;
  // A request has an empty frame first, as that of a REQ socket.
  if (!replay_->socket().send(zmq::message_t(), zmq::send_flags::dontwait | zmq::send_flags::sndmore)) return false;
  return replay_->socket().send(zmq::buffer(NumberFrame(number)), zmq::send_flags::dontwait).has_value();
}

std::optional<EventMessage> EventStream::ReadFrom(EventLine& line) {
  const std::optional<std::vector<zmq::message_t>> read = line.Read();
  if (!read) return std::nullopt;
  const std::vector<zmq::message_t>& frames = *read;
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
  events_->AddTo(items);
  if (replay_) replay_->AddTo(items);
}

}  // namespace penstock
