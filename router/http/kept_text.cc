#include "router/http/kept_text.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr int64_t kFirstPiece = 512;

}  // namespace

bool TextBudget::Take(Bytes amount, Bytes limit) {
  if (used_.fetch_add(amount.value(), std::memory_order_relaxed) + amount.value() <= limit.value()) return true;
  Give(amount);
  return false;
}

KeptText::KeptText(KeptText&& other) noexcept { *this = std::move(other); }

KeptText& KeptText::operator=(KeptText&& other) noexcept {
  if (this == &other) return *this;
  Free();
  budget_ = other.budget_;
  limits_ = other.limits_;
  text_ = std::exchange(other.text_, {});
  taken_ = std::exchange(other.taken_, Bytes(0));
  dropped_ = other.dropped_;
  return *this;
}

void KeptText::Append(absl::string_view text) {
  if (!whole() || text.empty()) return;
  const int64_t size = static_cast<int64_t>(text_.size() + text.size());
  if (size > taken_.value()) {
    // Doubling, but never more than the limit allows.
    const int64_t wanted = std::min(std::max({size, taken_.value() * 2, kFirstPiece}), limits_.each.value());
    const Bytes more(wanted - taken_.value());
    if (size > limits_.each.value() || !budget_->Take(more, limits_.all)) {
      dropped_ = true;
      Free();
      return;
    }
    taken_ = Bytes(wanted);
    text_.reserve(static_cast<size_t>(wanted));
  }
  text_.append(text.data(), text.size());
}

void KeptText::Clear() {
  text_.clear();
  dropped_ = false;
}

void KeptText::Free() {
  if (budget_ != nullptr) budget_->Give(taken_);
  taken_ = Bytes(0);
  text_ = std::string();
}

}  // namespace penstock
