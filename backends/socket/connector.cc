#include "backends/socket/connector.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <utility>

#include "base/clock.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// Families in turns, the first one first; within a family the order stays.
std::vector<SocketAddress> InTurns(std::vector<SocketAddress> addresses) {
  if (addresses.size() < 3) return addresses;
  const int first = addresses.front().protocol().family();
  const auto is_first = [first](const SocketAddress& address) { return address.protocol().family() == first; };
  const auto others = std::stable_partition(addresses.begin(), addresses.end(), is_first);
  std::vector<SocketAddress> turns;
  auto left = addresses.begin();
  auto right = others;
  while (left != others || right != addresses.end()) {
    if (left != others) turns.push_back(*left++);
    if (right != addresses.end()) turns.push_back(*right++);
  }
  return turns;
}

}  // namespace

Connector::Connector(asio::io_context& loop) : loop_(loop), timer_(loop, [this] { suspended_.Resume(); }) {}

asio::awaitable<std::unique_ptr<StreamSocket>> Connector::Connect(std::vector<SocketAddress> addresses,
                                                                  Duration timeout, ErrorCode& error) {
  addresses = InTurns(std::move(addresses));
  failure_ = asio::error::host_not_found;
  const bool infinite = timeout >= Duration::Infinite();
  const Instant end = infinite ? Instant::Never() : Now() + timeout;
  Instant next_try;
  size_t next = 0;
  while (true) {
    const size_t before = tries_.size();
    std::unique_ptr<StreamSocket> winner = Winner();
    error = ErrorCode();
    if (winner != nullptr) co_return winner;
    const Instant now = Now();
    if (cancelled_) error = asio::error::operation_aborted;
    if (!cancelled_ && now >= end) error = asio::error::timed_out;
    if (error) co_return nullptr;
    const bool more = next < addresses.size();
    if (!more && tries_.empty()) break;
    if (more && (now >= next_try || tries_.size() < before || tries_.empty())) {
      next_try = Begin(addresses[next++]) ? now + kNextTry : now;
      continue;
    }
    const Duration wait = (more ? std::min(end, next_try) : end) - now;
    const auto begin = [this, wait] { timer_.Arm(wait); };
    co_await suspended_.Wait(begin, [this] {
      cancelled_ = true;
      timer_.Arm(Duration());
    });
  }
  error = failure_;
  co_return nullptr;
}

bool Connector::Begin(const SocketAddress& address) {
  auto socket = std::make_unique<StreamSocket>(loop_, *this);
  const ErrorCode error = socket->Connect(address);
  if (error) {
    Note(error);
    return false;
  }
  tries_.push_back(std::move(socket));
  return true;
}

std::unique_ptr<StreamSocket> Connector::Winner() {
  for (size_t i = 0; i < tries_.size();) {
    const ErrorCode result = tries_[i]->ConnectResult();
    if (!result) return std::move(tries_[i]);
    if (result == asio::error::would_block) {
      ++i;
    } else {
      Note(result);
      tries_.erase(tries_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return nullptr;
}

void Connector::Note(const ErrorCode& error) {
  const bool have_peer_error = failure_ != asio::error::host_not_found && !IsLocalShortage(failure_);
  if (have_peer_error && IsLocalShortage(error)) return;
  failure_ = error;
}

}  // namespace penstock
