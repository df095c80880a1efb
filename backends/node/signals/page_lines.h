// Cuts the pieces of a page into whole lines. One page per object; holds at most one unfinished line.
#ifndef PENSTOCK_BACKENDS_NODE_SIGNALS_PAGE_LINES_H_
#define PENSTOCK_BACKENDS_NODE_SIGNALS_PAGE_LINES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace penstock {

class PageLines {
 public:
  static constexpr size_t kLargestPage = 8 << 20;
  static constexpr size_t kLongestLine = 16 << 10;

  // Gets whole lines, together; false ends the page.
  using Take = absl::FunctionRef<bool(absl::string_view)>;

  // False: the page or a line is too large, or `take` ended it.
  bool Add(absl::string_view piece, Take take) {
    seen_ += piece.size();
    if (seen_ > kLargestPage) return false;
    const size_t end = piece.rfind('\n');
    if (end == absl::string_view::npos) return Keep(piece);
    const absl::string_view whole = piece.substr(0, end + 1);
    bool goes_on = true;
    if (rest_.empty()) {
      goes_on = take(whole);
    } else {
      const size_t first = whole.find('\n') + 1;
      if (!Keep(whole.substr(0, first))) return false;
      goes_on = take(rest_) && (first == whole.size() || take(whole.substr(first)));
      rest_.clear();
    }
    return goes_on && Keep(piece.substr(end + 1));
  }
  // False: the last line has no end, so the page is cut.
  bool whole() const { return rest_.empty(); }

 private:
  bool Keep(absl::string_view part) {
    if (rest_.size() + part.size() > kLongestLine) return false;
    rest_.append(part.data(), part.size());
    return true;
  }

  size_t seen_ = 0;
  std::string rest_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NODE_SIGNALS_PAGE_LINES_H_
