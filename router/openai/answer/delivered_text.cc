#include "router/openai/answer/delivered_text.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr int64_t kFirstPiece = 128;

}  // namespace

void DeliveredText::Append(absl::string_view text) {
  if (!whole() || text.empty()) return;
  const int64_t size = static_cast<int64_t>(text_.size() + text.size());
  if (size > share_.held().value()) {
    // Doubling, but never more than the limit allows.
    const int64_t doubled = std::max({size, share_.held().value() * 2, kFirstPiece});
    const Bytes wanted(std::min(doubled, limits_.each.value()));
    if (size > limits_.each.value() || !share_.GrowTo(wanted, limits_.all)) {
      dropped_ = true;
      share_.Release();
      text_ = std::string();
      return;
    }
    text_.reserve(static_cast<size_t>(wanted.value()));
  }
  text_.append(text.data(), text.size());
}

void DeliveredText::Clear() {
  text_.clear();
  dropped_ = false;
}

}  // namespace penstock
