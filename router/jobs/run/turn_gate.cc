#include "router/jobs/run/turn_gate.h"

#include <algorithm>

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

// With more tenants than these, some of them count as new again.
constexpr size_t kMostTenants = 4096;

}  // namespace

asio::awaitable<void> TurnGate::Enter(TenantId tenant) {
  if (!taken_) {
    taken_ = true;
    Count(tenant);
    co_return;
  }
  Waiter self{tenant, Signal(loop_)};
  waiters_.push_back(&self);
  while (!self.called) co_await self.turn.Wait();
}

void TurnGate::Leave() {
  const auto next = std::min_element(waiters_.begin(), waiters_.end(),
                                     [this](const Waiter* a, const Waiter* b) { return LastTurn(*a) < LastTurn(*b); });
  taken_ = next != waiters_.end();
  if (!taken_) return;
  Waiter& called = **next;
  waiters_.erase(next);
  Count(called.tenant);
  called.called = true;
  called.turn.Notify();
}

void TurnGate::Count(TenantId tenant) {
  if (turns_.size() >= kMostTenants) turns_.clear();
  turns_[tenant] = ++count_;
}

uint64_t TurnGate::LastTurn(const Waiter& waiter) const {
  const auto found = turns_.find(waiter.tenant);
  return found == turns_.end() ? 0 : found->second;
}

}  // namespace penstock::jobs
