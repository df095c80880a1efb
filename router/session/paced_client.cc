#include "router/session/paced_client.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The longest time until a drain is noticed.
constexpr Duration kLook = Duration::Milliseconds(250);
// Written bytes stay in front of the held ones up to this size, or half of all, so that each byte is moved once.
constexpr size_t kCompactAt = 4 << 10;

}  // namespace

PacedClient::PacedClient(SessionState& state, Client& client, const Pace& pace)
    : state_(state),
      client_(client),
      pace_(pace),
      changed_(state.loop.io()),
      next_(state.loop.deadlines(), [this] { Release(); }),
      memory_(state),
      first_(pace.arrival) {}

Written PacedClient::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  const Instant now = Now();
  const int64_t token = state_.answer.delivered;
  if (token == 0) first_ = now;
  const Instant release = pace_.ReleaseOf(token, first_);
  if (idle() && (hurry_ || token == 0 || release <= now)) return client_.Events(headers, pieces);
  if (client_.gone()) return Written::kGone;
  Hold(release, pieces);
  if (!writing_) Release();
  return Written::kAll;
}

void PacedClient::Hold(Instant release, const std::vector<absl::string_view>& pieces) {
  for (absl::string_view piece : pieces) absl::StrAppend(&held_, piece);
  batches_.push_back({release, held_.size()});
  if (!memory_.Hold(held_.size())) hurry_ = true;
}

bool PacedClient::Hurries(Instant now) const {
  return hurry_ || now >= state_.answer_deadline || state_.loop.edge().draining.load(std::memory_order_relaxed);
}

void PacedClient::Release() {
  if (writing_) return;
  const Instant now = Now();
  const bool hurries = Hurries(now);
  size_t end = written_;
  while (!batches_.empty() && (hurries || batches_.front().release <= now)) {
    end = batches_.front().end;
    batches_.pop_front();
  }
  if (end > written_) {
    piece_.assign(1, absl::string_view(held_).substr(written_, end - written_));
    const Written written = client_.Events(HeaderList(), piece_);
    written_ = end;
    Compact();
    if (written == Written::kPart) {
      writing_ = true;
      asio::co_spawn(state_.loop.io(), FinishWrite(), asio::detached);
      return;
    }
  }
  if (batches_.empty()) {
    changed_.Notify();
  } else {
    next_.Arm(std::min(batches_.front().release - now, kLook), now);
  }
}

void PacedClient::Compact() {
  if (written_ < held_.size() && written_ < std::max(kCompactAt, held_.size() / 2)) return;
  held_.erase(0, written_);
  for (Batch& batch : batches_) batch.end -= written_;
  written_ = 0;
  memory_.Hold(held_.size());
}

asio::awaitable<void> PacedClient::FinishWrite() {
  co_await client_.FinishEvents();
  writing_ = false;
  Release();
  changed_.Notify();
}

asio::awaitable<bool> PacedClient::AwaitIdle() {
  while (!idle() && !client_.gone()) {
    co_await changed_.Wait();
  }
  co_await Settle();
  co_return !client_.gone();
}

asio::awaitable<void> PacedClient::Settle() {
  while (writing_) co_await changed_.Wait();
}

asio::awaitable<bool> PacedClient::End() {
  const bool alive = co_await AwaitIdle();
  if (!alive) co_return false;
  co_return co_await client_.End();
}

asio::awaitable<bool> PacedClient::Error(const ApiError& error) {
  hurry_ = true;
  Release();
  co_await AwaitIdle();
  co_return co_await client_.Error(error);
}

void PacedClient::KeepAlive(const HeaderList& headers) {
  if (idle()) client_.KeepAlive(headers);
}

void PacedClient::Watch(std::function<void()> on_gone) {
  client_.Watch([this, on_gone = std::move(on_gone)] {
    changed_.Notify();
    on_gone();
  });
}

}  // namespace penstock
