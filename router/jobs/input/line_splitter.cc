#include "router/jobs/input/line_splitter.h"

#include <cassert>

namespace penstock::jobs {
namespace {

constexpr absl::string_view kMark = "\xEF\xBB\xBF";  // Some editors begin a file with it.

bool IsBlank(absl::string_view text) { return text.find_first_not_of(" \t\r\v\f") == absl::string_view::npos; }

}  // namespace

void LineSplitter::Offer(absl::string_view bytes, bool last) {
  assert(input_.empty());
  input_ = bytes;
  last_ = last;
}

void LineSplitter::Keep(absl::string_view bytes) {
  length_ += static_cast<int64_t>(bytes.size());
  // One byte more than a line may have tells a long line, and "\r" may be part of its end.
  if (kept_.size() <= max_line_ + 1) {
    const absl::string_view part = bytes.substr(0, max_line_ + 2 - kept_.size());
    kept_.append(part.data(), part.size());
  }
}

bool LineSplitter::Finish(absl::string_view rest, int64_t end, SplitLine& line) {
  absl::string_view text = rest;
  if (length_ > 0) {
    Keep(rest);
    text = kept_;
  } else {
    length_ = static_cast<int64_t>(rest.size());
  }
  line = SplitLine{place_.lines + 1, place_.offset, length_, false, {}};
  place_.lines += 1;
  place_.offset += length_ + end;
  const bool whole = length_ <= static_cast<int64_t>(max_line_ + 2);
  length_ = 0;
  given_ = true;
  if (whole && !text.empty() && text.back() == '\r') {
    text.remove_suffix(1);
    line.length -= 1;
  }
  if (whole && line.offset == 0 && text.substr(0, kMark.size()) == kMark) {
    text.remove_prefix(kMark.size());
    line.offset += static_cast<int64_t>(kMark.size());
    line.length -= static_cast<int64_t>(kMark.size());
  }
  line.too_long = !whole || text.size() > max_line_;
  if (!line.too_long) line.text = text;
  return line.too_long || !IsBlank(text);
}

bool LineSplitter::Next(SplitLine& line) {
  while (true) {
    if (given_) kept_.clear();
    given_ = false;
    const size_t end = input_.find('\n');
    if (end != absl::string_view::npos) {
      const absl::string_view rest = input_.substr(0, end);
      input_.remove_prefix(end + 1);
      if (Finish(rest, 1, line)) return true;
      continue;
    }
    if (last_) {
      const absl::string_view rest = input_;
      input_ = absl::string_view();
      return length_ + static_cast<int64_t>(rest.size()) > 0 && Finish(rest, 0, line);
    }
    Keep(input_);
    input_ = absl::string_view();
    return false;
  }
}

}  // namespace penstock::jobs
