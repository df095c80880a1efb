#include "router/multipart/multipart_scanner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/multipart/header_parameters.h"

namespace penstock {
namespace {

constexpr absl::string_view kLineEnd = "\r\n";
constexpr absl::string_view kHeadEnd = "\r\n\r\n";
constexpr size_t kMaxPreamble = 4 << 10;

}  // namespace

std::optional<std::string> MultipartScanner::BoundaryOf(absl::string_view content_type) {
  HeaderParameters parameters(content_type);
  if (!absl::EqualsIgnoreCase(parameters.value(), "multipart/form-data")) return std::nullopt;
  std::optional<std::string> boundary = parameters.Find("boundary");
  if (!boundary || boundary->empty() || boundary->size() > kMaxBoundary) return std::nullopt;
  const auto unusable = [](char c) { return !absl::ascii_isprint(static_cast<unsigned char>(c)); };
  if (std::any_of(boundary->begin(), boundary->end(), unusable) || boundary->back() == ' ') return std::nullopt;
  return boundary;
}

// The first delimiter needs no line end before it: it counts as seen.
MultipartScanner::MultipartScanner(absl::string_view boundary)
    : delimiter_(absl::StrCat("\r\n--", boundary)), matched_(kLineEnd.size()), unreal_(matched_) {}

MultipartScanner::Event MultipartScanner::Fail(absl::string_view fault) {
  state_ = State::kFailed;
  fault_ = fault;
  return Event::kFailed;
}

MultipartScanner::Event MultipartScanner::Next() {
  while (true) {
    switch (state_) {
      case State::kFailed:
        return Event::kFailed;
      case State::kEnd:
        input_ = absl::string_view();
        return Event::kEnd;
      default:
        break;
    }
    if (state_ == State::kData && matched_ == delimiter_.size()) {
      state_ = State::kDelimiter;
      return Event::kPartEnd;
    }
    if (input_.empty()) return Event::kNeedMore;
    Event event = Event::kNeedMore;
    if (state_ == State::kPreamble) {
      event = TakePreamble();
    } else if (state_ == State::kData) {
      event = TakeData();
    } else if (state_ == State::kHead) {
      event = TakeHead();
    } else {
      const char c = input_.front();
      input_.remove_prefix(1);
      event = TakeLine(c);
    }
    if (event != Event::kNeedMore) return event;
  }
}

// A carriage return begins the delimiter and occurs nowhere else in it. So the bytes that matched before a mismatch are
// data, and need no second look.
bool MultipartScanner::FindDelimiter() {
  const absl::string_view delimiter = delimiter_;
  if (matched_ > 0) {
    const absl::string_view rest = delimiter.substr(matched_);
    const size_t length = std::min(rest.size(), input_.size());
    const auto differ = std::mismatch(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(length), input_.begin());
    const auto same = static_cast<size_t>(differ.first - rest.begin());
    input_.remove_prefix(same);
    if (same < length) {
      data_ = delimiter.substr(unreal_, matched_ + same - unreal_);
      matched_ = unreal_ = 0;
      return false;
    }
    matched_ += same;
    data_ = absl::string_view();
    return matched_ == delimiter.size();
  }
  size_t end = 0;
  while (true) {
    end = input_.find('\r', end);
    if (end == absl::string_view::npos) break;
    const absl::string_view tail = input_.substr(end, delimiter.size());
    if (delimiter.substr(0, tail.size()) == tail) break;
    ++end;
  }
  data_ = input_.substr(0, end);
  input_.remove_prefix(data_.size());
  matched_ = std::min(input_.size(), delimiter.size());
  input_.remove_prefix(matched_);
  return matched_ == delimiter.size();
}

MultipartScanner::Event MultipartScanner::TakePreamble() {
  const bool found = FindDelimiter();
  preamble_ += data_.size();
  if (preamble_ > kMaxPreamble) return Fail("the boundary does not begin the body");
  if (found) state_ = State::kDelimiter;
  return Event::kNeedMore;
}

MultipartScanner::Event MultipartScanner::TakeData() {
  (void)FindDelimiter();
  return data_.empty() ? Event::kNeedMore : Event::kData;
}

MultipartScanner::Event MultipartScanner::TakeLine(char c) {
  matched_ = unreal_ = 0;
  if (state_ == State::kDash) {
    if (c != '-') return Fail("a boundary is followed by other text");
    state_ = State::kEnd;
    return Event::kEnd;
  }
  if (state_ == State::kLineEnd) {
    if (c != '\n') return Fail("a line ends without a line feed");
    if (++parts_ > kMaxParts) return Fail("there are too many parts");
    state_ = State::kHead;
    // The line end of the delimiter lets an empty head end like any other.
    head_.assign(kLineEnd.data(), kLineEnd.size());
    return Event::kNeedMore;
  }
  if (c == ' ' || c == '\t') return Event::kNeedMore;
  if (c != '-' && c != '\r') return Fail("a boundary is followed by other text");
  state_ = c == '-' ? State::kDash : State::kLineEnd;
  return Event::kNeedMore;
}

MultipartScanner::Event MultipartScanner::TakeHead() {
  const size_t had = head_.size();
  const size_t taken = std::min(input_.size(), kMaxPartHead + kHeadEnd.size() - had);
  head_.append(input_.data(), taken);
  const size_t end = head_.find(kHeadEnd.data(), had < kHeadEnd.size() ? 0 : had - kHeadEnd.size() + 1);
  if (end == std::string::npos) {
    input_.remove_prefix(taken);
    if (head_.size() >= kMaxPartHead + kHeadEnd.size()) return Fail("the head of a part is too long");
    return Event::kNeedMore;
  }
  input_.remove_prefix(end + kHeadEnd.size() - had);
  return ReadHead(absl::string_view(head_).substr(0, end));
}

MultipartScanner::Event MultipartScanner::ReadHead(absl::string_view head) {
  part_ = FormPart();
  bool named = false;
  head.remove_prefix(std::min(head.size(), kLineEnd.size()));
  while (!head.empty()) {
    const absl::string_view line = head.substr(0, head.find(kLineEnd.data()));
    head.remove_prefix(std::min(head.size(), line.size() + kLineEnd.size()));
    named = TakeField(line) || named;
  }
  if (!named) return Fail("a part has no name");
  state_ = State::kData;
  // A delimiter may follow the head at once: the head's line end is then its own.
  matched_ = unreal_ = kLineEnd.size();
  return Event::kPart;
}

bool MultipartScanner::TakeField(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return false;
  const absl::string_view name = absl::StripTrailingAsciiWhitespace(line.substr(0, colon));
  const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (absl::EqualsIgnoreCase(name, "content-type")) part_.content_type = std::string(value);
  if (!absl::EqualsIgnoreCase(name, "content-disposition")) return false;
  HeaderParameters parameters(value);
  std::optional<std::string> field = parameters.Find("name");
  if (!absl::EqualsIgnoreCase(parameters.value(), "form-data") || !field) return false;
  part_.name = *std::move(field);
  part_.filename = parameters.FindExtended("filename");
  if (part_.filename) part_.filename->erase(0, part_.filename->find_last_of("/\\") + 1);
  return true;
}

}  // namespace penstock
