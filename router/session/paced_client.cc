#include "router/session/paced_client.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "router/live/loop_turn.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The longest time until a drain is noticed.
constexpr Duration kLook = Duration::Milliseconds(250);
// Bytes written in one turn of the loop.
constexpr size_t kPart = 64 << 10;
// The most that one stream holds, and its part of the budget.
constexpr size_t kMostHeld = 4 << 20;
constexpr int64_t kPartOfBudget = 8;

size_t MostHeld(Bytes budget) {
  const auto part = static_cast<size_t>(budget.value() / kPartOfBudget);
  return std::clamp(part, AnswerMemory::kFree, kMostHeld);
}

}  // namespace

PacedClient::PacedClient(SessionState& state, Client& client, const Pace& pace, OnReached on_reached)
    : ForwardingClient(client),
      state_(state),
      pace_(pace),
      on_reached_(std::move(on_reached)),
      changed_(state.loop.io()),
      next_(state.loop.deadlines(), [this] { Release(HeaderList()); }),
      memory_(state),
      position_{pace.arrival} {}

Instant PacedClient::ReleaseOf(int64_t progress, int64_t ahead) const {
  const int64_t index = position_.token + (progress > 0 ? ahead : -1);
  // The sequences of a request grow side by side.
  return pace_.ReleaseOf(std::max<int64_t>(index, 0) / (state_.facts().n * state_.facts().prompts), position_.first);
}

Written PacedClient::Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) {
  if (client().gone()) return Written::kGone;
  const Instant now = Now();
  const Expected expected = std::exchange(expected_, Expected());
  if (position_.token == 0) position_.first = now;
  passed_ = idle() && (hurry_ || ReleaseOf(expected.progress, expected.progress - 1) <= now);
  if (!passed_) Hold(pieces, expected);
  position_.token += expected.progress;
  if (passed_) return client().Events(headers, pieces);
  Release(headers);
  if (client().gone()) return Written::kGone;
  return hurry_ && !idle() ? Written::kPart : Written::kAll;
}

void PacedClient::Hold(const std::vector<absl::string_view>& pieces, Expected expected) {
  for (absl::string_view piece : pieces) splitter_.Feed(piece);
  piece_.clear();
  while (const auto event = splitter_.Next()) piece_.push_back(event->raw);
  const absl::string_view rest = splitter_.Rest();
  if (!rest.empty()) piece_.push_back(rest);
  const auto events = static_cast<int64_t>(piece_.size());
  for (int64_t i = 0; i < events; ++i) {
    const int64_t tokens = expected.tokens * (i + 1) / events - expected.tokens * i / events;
    held_.Add(ReleaseOf(expected.progress, expected.progress * i / events), piece_[i], tokens);
  }
  if (!rest.empty()) splitter_ = SseSplitter();
  if (!memory_.Hold(held_.bytes()) || memory_.crowded() || held_.bytes() > MostHeld(state_.limits->max_answer_memory)) {
    hurry_ = true;
  }
}

asio::awaitable<bool> PacedClient::FinishEvents() { return passed_ ? client().FinishEvents() : AwaitIdle(); }

bool PacedClient::Hurries(Instant now) const {
  return hurry_ || now >= state_.answer_deadline || state_.loop.edge().draining.load(std::memory_order_relaxed);
}

void PacedClient::Release(const HeaderList& headers) {
  if (writing()) return;
  const Instant now = Now();
  const Instant until = Hurries(now) ? Instant::Never() : now;
  const HeldEvents::Due due = held_.DueAt(until, kPart);
  if (!due.text.empty()) {
    InWrite write{due.text.size(), due.tokens, std::vector<char>(due.text.begin(), due.text.end())};
    piece_.assign(1, absl::string_view(write.text.data(), write.text.size()));
    const Written written = client().Events(headers, piece_);
    if (written == Written::kGone) return Drop();
    const bool part = written == Written::kPart;
    if (!part) OnWritten(write);
    if (part || !held_.DueAt(until, kPart).text.empty()) {
      in_write_ = part ? std::move(write) : InWrite();
      asio::co_spawn(state_.loop.io(), FinishWrite(part), asio::detached);
      return;
    }
  }
  if (held_.empty()) {
    changed_.Notify();
  } else {
    next_.Arm(std::min(held_.next() - now, kLook), now);
  }
}

void PacedClient::OnWritten(const InWrite& write) {
  held_.Pop(write.bytes);
  memory_.Hold(held_.bytes());
  if (write.tokens > 0) on_reached_(write.tokens, Now());
}

asio::awaitable<void> PacedClient::FinishWrite(bool part) {
  bool alive = true;
  if (part) {
    alive = co_await client().FinishEvents();
  } else {
    co_await LetOthersRun(state_.loop.io());
  }
  const InWrite write = *std::exchange(in_write_, std::nullopt);
  if (alive) OnWritten(write);
  const bool cut = part && cut_ != CutState::kNone && !held_.empty();
  if (cut) cut_ = CutState::kShort;
  if (cut || !alive) {
    Drop();
  } else {
    Release(HeaderList());
    changed_.Notify();
  }
}

void PacedClient::Drop() {
  held_.Clear();
  memory_.Hold(0);
  changed_.Notify();
}

asio::awaitable<bool> PacedClient::AwaitIdle() {
  while (!idle() && !client().gone()) {
    co_await changed_.Wait();
  }
  co_await Settle();
  co_return !client().gone();
}

asio::awaitable<void> PacedClient::Settle() {
  while (writing()) co_await changed_.Wait();
}

asio::awaitable<bool> PacedClient::End() {
  const bool alive = co_await AwaitIdle();
  if (!alive || cut_short()) co_return alive;
  co_return co_await client().End();
}

asio::awaitable<bool> PacedClient::Error(const ApiError& error) {
  hurry_ = true;
  Release(HeaderList());
  co_await AwaitIdle();
  co_return co_await client().Error(error);
}

void PacedClient::Cut() {
  hurry_ = true;
  if (cut_ == CutState::kNone) cut_ = CutState::kAsked;
  Release(HeaderList());
}

void PacedClient::KeepAlive(const HeaderList& headers) {
  if (idle()) client().KeepAlive(headers);
}

void PacedClient::Watch(std::function<void()> on_gone) {
  client().Watch([this, on_gone = std::move(on_gone)] {
    changed_.Notify();
    on_gone();
  });
}

}  // namespace penstock
