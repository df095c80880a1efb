// Memory that many requests share under one limit. A ByteBudget is thread-safe; a ByteShare belongs to one loop.
#ifndef PENSTOCK_BASE_BYTE_BUDGET_H_
#define PENSTOCK_BASE_BYTE_BUDGET_H_

#include <atomic>
#include <utility>

#include "base/units.h"

namespace penstock {

class ByteBudget {
 public:
  Bytes used() const { return Bytes(used_.load(std::memory_order_relaxed)); }

 private:
  friend class ByteShare;
  std::atomic<int64_t> used_{0};
};

// The bytes that one owner holds of a budget; given back at its end. Without a budget it holds nothing and never fails.
class ByteShare {
 public:
  ByteShare() = default;
  explicit ByteShare(ByteBudget& budget) : budget_(&budget) {}
  ~ByteShare() { Release(); }
  ByteShare(ByteShare&& other) noexcept : budget_(other.budget_), held_(std::exchange(other.held_, Bytes(0))) {}
  ByteShare& operator=(ByteShare&& other) noexcept {
    if (this == &other) return *this;
    Release();
    budget_ = other.budget_;
    held_ = std::exchange(other.held_, Bytes(0));
    return *this;
  }

  Bytes held() const { return held_; }
  // Holds at least `amount` from now on. False, and nothing changes, when more than `limit` would be in use in all.
  bool GrowTo(Bytes amount, Bytes limit) {
    if (budget_ == nullptr || amount <= held_) return true;
    const int64_t more = (amount - held_).value();
    if (budget_->used_.fetch_add(more, std::memory_order_relaxed) + more > limit.value()) {
      budget_->used_.fetch_sub(more, std::memory_order_relaxed);
      return false;
    }
    held_ = amount;
    return true;
  }
  void Release() {
    if (held_ > Bytes(0)) budget_->used_.fetch_sub(held_.value(), std::memory_order_relaxed);
    held_ = Bytes(0);
  }

 private:
  ByteBudget* budget_ = nullptr;
  Bytes held_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_BYTE_BUDGET_H_
