#include "backends/kv_events/socket/event_publisher.h"

#include <array>
#include <iterator>
#include <vector>
#include <zmq_addon.hpp>

#include "absl/strings/str_cat.h"
#include "backends/kv_events/socket/event_frames.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<EventPublisher>> EventPublisher::Bind(const std::string& events,
                                                                     const std::string& replay) {
  std::unique_ptr<EventPublisher> publisher(new EventPublisher());
  std::string address = events;
  try {
    publisher->events_ = zmq::socket_t(publisher->context_, zmq::socket_type::pub);
    publisher->events_.set(zmq::sockopt::linger, 0);
    publisher->events_.bind(address);
    if (replay.empty()) return publisher;
    address = replay;
    publisher->replay_.emplace(publisher->context_, zmq::socket_type::router);
    publisher->replay_->set(zmq::sockopt::linger, 0);
    publisher->replay_->set(zmq::sockopt::sndhwm, static_cast<int>(kMostKept) + 1);
    publisher->replay_->bind(address);
    return publisher;
  } catch (const zmq::error_t& error) {
    return absl::UnavailableError(absl::StrCat("kv_events: ", address, ": ", error.what()));
  }
}

void EventPublisher::Publish(const KvBatch& batch) {
  ServeReplays();
  kept_.emplace_back(next_++, EncodeKvBatch(batch));
  if (kept_.size() > kMostKept) kept_.pop_front();
  const std::string number = NumberFrame(kept_.back().first);
  const std::array<zmq::const_buffer, 3> frames = {zmq::const_buffer(), zmq::buffer(number),
                                                   zmq::buffer(kept_.back().second)};
  zmq::send_multipart(events_, frames, zmq::send_flags::dontwait);
}

void EventPublisher::ServeReplays() {
  if (!replay_) return;
  std::vector<zmq::message_t> request;
  while (zmq::recv_multipart(*replay_, std::back_inserter(request), zmq::recv_flags::dontwait)) {
    const auto from = request.size() == 3 ? NumberOfFrame(request.back().to_string_view()) : std::nullopt;
    const std::string peer = request.front().to_string();
    request.clear();
    if (!from) continue;
    const auto answer = [this, &peer](const std::string& number, const std::string& batch) {
      const std::array<zmq::const_buffer, 5> frames = {zmq::buffer(peer), zmq::const_buffer(), zmq::const_buffer(),
                                                       zmq::buffer(number), zmq::buffer(batch)};
      zmq::send_multipart(*replay_, frames, zmq::send_flags::dontwait);
    };
    for (const auto& [number, batch] : kept_) {
      if (number >= *from) answer(NumberFrame(number), batch);
    }
    answer(NumberFrame(kReplayEnd), "");
  }
}

}  // namespace penstock
