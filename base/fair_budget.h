// Memory under one limit that callers share fairly: no caller alone can take all of it.
//
// A caller may hold as much as is left free, so one caller gets half, two get a third each. Small holdings get three
// times as much, so they still fit beside large ones. A single holding may take all. A caller is a hash, so two callers
// may share an account. A FairBudget is thread-safe; a FairShare belongs to one loop.
#ifndef PENSTOCK_BASE_FAIR_BUDGET_H_
#define PENSTOCK_BASE_FAIR_BUDGET_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/units.h"

namespace penstock {

class FairBudget {
 public:
  Bytes used() const { return Bytes(used_.load(std::memory_order_relaxed)); }

 private:
  friend class FairShare;
  static constexpr size_t kAccounts = 1024;

  std::atomic<int64_t> used_{0};
  std::array<std::atomic<int64_t>, kAccounts> accounts_{};
};

// The bytes that one owner holds of a budget; given back at its end. Without a budget it holds nothing and never fails.
class FairShare {
 public:
  // A holding up to this size is small.
  static constexpr Bytes kSmall{64 << 10};

  FairShare() = default;
  FairShare(FairBudget* budget, uint64_t caller) : budget_(budget), account_(caller % FairBudget::kAccounts) {}
  ~FairShare() { Release(); }
  FairShare(FairShare&& other) noexcept
      : budget_(other.budget_), account_(other.account_), held_(std::exchange(other.held_, Bytes(0))) {}
  FairShare& operator=(FairShare&& other) noexcept {
    if (this == &other) return *this;
    Release();
    budget_ = other.budget_;
    account_ = other.account_;
    held_ = std::exchange(other.held_, Bytes(0));
    return *this;
  }

  Bytes held() const { return held_; }
  // Holds at least `amount` from now on. False, and nothing changes, when the limit or the caller's part is too small.
  bool GrowTo(Bytes amount, Bytes limit) {
    if (budget_ == nullptr || amount <= held_) return true;
    const int64_t more = (amount - held_).value();
    const int64_t used = Add(budget_->used_, more);
    const int64_t caller = Add(budget_->accounts_[account_], more);
    const int64_t free = limit.value() - used;
    const int64_t weight = amount <= kSmall ? 3 : 1;
    if (free < 0 || (caller > weight * free && used > amount.value())) {
      Add(budget_->used_, -more);
      Add(budget_->accounts_[account_], -more);
      return false;
    }
    held_ = amount;
    return true;
  }
  // Gives back all but `amount`.
  void ShrinkTo(Bytes amount) {
    if (amount >= held_) return;
    const int64_t less = (amount - held_).value();
    Add(budget_->used_, less);
    Add(budget_->accounts_[account_], less);
    held_ = amount;
  }
  void Release() { ShrinkTo(Bytes(0)); }

 private:
  static int64_t Add(std::atomic<int64_t>& sum, int64_t more) {
    return sum.fetch_add(more, std::memory_order_relaxed) + more;
  }

  FairBudget* budget_ = nullptr;
  size_t account_ = 0;
  Bytes held_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_FAIR_BUDGET_H_
