#include "backends/socket/readiness.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cassert>
#include <cerrno>

namespace penstock {
namespace asio = boost::asio;

namespace {

// Events that a turn takes from the kernel at most: a fraction of a millisecond.
constexpr int kMostTaken = 4096;

boost::system::error_code LastError() { return {errno, boost::system::system_category()}; }

}  // namespace

Readiness::Readiness(asio::io_context& loop, Owner& owner) : set_(ReadinessSet::Of(loop)), owner_(&owner) {}

Readiness::~Readiness() {
  if (place_ != kNoPlace) set_.Leave(*this);
}

Readiness::ErrorCode Readiness::Enter(int socket, bool connected) {
  mask_ = connected ? uint32_t{EPOLLIN | EPOLLOUT} : 0;
  return set_.Enter(socket, *this);
}

void Readiness::Mute() {
  if (place_ != kNoPlace) set_.Mute(*this);
}

asio::execution_context::id ReadinessSet::id;

ReadinessSet::ReadinessSet(asio::io_context& loop)
    : asio::execution_context::service(loop), turns_(LoopTurns::Of(loop)), set_(loop.get_executor()) {}

ReadinessSet& ReadinessSet::Of(asio::io_context& loop) { return asio::use_service<ReadinessSet>(loop); }

ReadinessSet::ErrorCode ReadinessSet::Open() {
  const int descriptor = epoll_create1(EPOLL_CLOEXEC);
  if (descriptor < 0) return LastError();
  ErrorCode error;
  set_.assign(descriptor, error);
  return error;
}

ReadinessSet::ErrorCode ReadinessSet::Enter(int socket, Readiness& readiness) {
  assert(readiness.place_ == Readiness::kNoPlace);
  ErrorCode error;
  if (!set_.is_open()) error = Open();
  if (error) return error;
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const uint32_t place = free_.back();
  epoll_event event{};
  event.events = uint32_t{EPOLLIN | EPOLLOUT | EPOLLRDHUP} | uint32_t{EPOLLET};
  event.data.u64 = uint64_t{places_[place].use} << 32 | place;
  if (epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, socket, &event) != 0) return LastError();
  free_.pop_back();
  places_[place].socket = &readiness;
  readiness.place_ = place;
  ++used_;
  Arm();
  return error;
}

// The loop may end only when nothing is left to wait for.
void ReadinessSet::Leave(const Readiness& readiness) {
  Place& place = places_[readiness.place_];
  place.socket = nullptr;
  ++place.use;
  free_.push_back(readiness.place_);
  ErrorCode ignored;
  if (--used_ == 0) set_.cancel(ignored);
}

void ReadinessSet::Arm() {
  if (armed_ || used_ == 0) return;
  armed_ = true;
  const auto turn = [this](const ErrorCode& error) {
    const LoopTurns::Scope scope(turns_);
    armed_ = false;
    if (!error) HandOut();
    Arm();
  };
  if (ended_.empty()) {
    set_.async_wait(asio::posix::descriptor_base::wait_read, turn);
  } else {
    asio::post(set_.get_executor(), [turn] { turn(ErrorCode()); });
  }
}

void ReadinessSet::HandOut() {
  int told = 0;
  int count = kBatch;
  // Behind a full batch of ends lie the events of others.
  for (int taken = 0; count == kBatch && told < kBatch && taken < kMostTaken; taken += count) {
    count = std::max(0, epoll_wait(set_.native_handle(), batch_.data(), kBatch, 0));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = batch_[static_cast<size_t>(i)];
      pushes_.SetOpen(i + 1 < count);
      if ((event.events & Readiness::kEnded) != 0) {
        ended_.push_back(event);
      } else {
        ++told;
        Tell(event);
      }
    }
  }
  pushes_.PushAll();
  HandOutEnds();
}

void ReadinessSet::HandOutEnds() {
  for (int i = 0; i < kEnds && !ended_.empty(); ++i) {
    const epoll_event event = ended_.front();
    ended_.pop_front();
    Tell(event);
  }
}

void ReadinessSet::Tell(const epoll_event& event) {
  const Place& place = places_[static_cast<uint32_t>(event.data.u64)];
  if (place.socket == nullptr || place.use != event.data.u64 >> 32) return;
  place.socket->mask_ |= event.events;
  place.socket->owner_->OnReady();
}

void ReadinessSet::shutdown() noexcept {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].socket != nullptr) places_[i].socket->owner_->OnLoopEnd();
  }
}

}  // namespace penstock
