// A long text in parts: its growth copies nothing, and its end gives the memory back a part at a time.
//
// A text of 30 MB in one block costs its loop milliseconds for each of these. Pure; one owner, not thread-safe.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_TEXT_PARTS_H_
#define PENSTOCK_ROUTER_SESSION_STATE_TEXT_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace penstock {

class TextParts {
 public:
  static constexpr size_t kPart = 256 << 10;

  TextParts() = default;
  explicit TextParts(std::string text) : size_(text.size()) {
    if (size_ <= kPart) {
      parts_.push_back(std::move(text));
      return;
    }
    for (absl::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(rest.size(), kPart))) {
      parts_.emplace_back(rest.substr(0, kPart));
    }
  }

  void Add(absl::string_view more) {
    size_ += more.size();
    if (parts_.empty() || parts_.back().size() >= kPart) parts_.emplace_back();
    parts_.back().append(more.data(), more.size());
  }
  size_t size() const { return size_; }
  // The parts in their order. A reader may take a part that it is done with.
  std::vector<std::string>& parts() { return parts_; }
  // In one block; once.
  std::string Join() {
    std::string text = parts_.size() == 1 ? std::move(parts_.front()) : absl::StrJoin(parts_, "");
    *this = TextParts();
    return text;
  }

 private:
  std::vector<std::string> parts_;
  size_t size_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_TEXT_PARTS_H_
