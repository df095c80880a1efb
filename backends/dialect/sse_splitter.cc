#include "backends/dialect/sse_splitter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "base/byte_block.h"

namespace penstock {
namespace {

// "data: x" and "data:x" mean the same: the format ignores one space after the colon.
bool TakeField(absl::string_view line, absl::string_view name, absl::string_view* value) {
  if (!absl::ConsumePrefix(&line, name)) return false;
  if (line.empty()) {
    *value = line;
    return true;
  }
  if (!absl::ConsumePrefix(&line, ":")) return false;
  absl::ConsumePrefix(&line, " ");
  *value = line;
  return true;
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; }

// A line without data: blank, a comment, or another field. The format has a client ignore fields that it does not know.
// A line without a colon is a field without a value.
bool MayLackData(absl::string_view line) {
  absl::string_view value;
  if (line.empty() || line.front() == ':') return true;
  if (TakeField(line, "event", &value) || TakeField(line, "id", &value) || TakeField(line, "retry", &value))
    return true;
  const absl::string_view name = line.substr(0, line.find(':'));
  return std::all_of(name.begin(), name.end(), IsNameCharacter);
}

// The position of the first end of a line, which there is.
size_t FirstLineEnd(absl::string_view lines) {
  size_t at = 0;
  for (; lines.size() - at >= kBlockBytes; at += kBlockBytes) {
    const ByteBlock bytes = LoadBlock(lines.data() + at);
    const size_t end = FirstSet(static_cast<ByteBlock>((bytes == '\n') | (bytes == '\r')));
    if (end < kBlockBytes) return at + end;
  }
  while (at < lines.size() && lines[at] != '\n' && lines[at] != '\r') ++at;
  return at;
}

// Removes the first line of a whole event, with its end.
absl::string_view TakeWholeLine(absl::string_view& lines) {
  const size_t end = FirstLineEnd(lines);
  const absl::string_view line = lines.substr(0, end);
  const bool both = end + 1 < lines.size() && lines[end] == '\r' && lines[end + 1] == '\n';
  lines.remove_prefix(end + (both ? 2 : 1));
  return line;
}

// Reads and nearly all events are shorter.
constexpr size_t kUsualBuffer = 128 << 10;

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

void SseSplitter::Feed(absl::string_view bytes) {
  if (position_ == buffer_.size()) {
    if (buffer_.capacity() > kUsualBuffer) std::string().swap(buffer_);
    buffer_.clear();
  } else if (position_ > 0) {
    buffer_.erase(0, position_);
  }
  line_ -= position_;
  newline_ -= std::min(newline_, position_);
  return_ -= std::min(return_, position_);
  position_ = 0;
  buffer_.append(bytes.data(), bytes.size());
}

void SseSplitter::FeedOwned(std::string bytes) {
  if (position_ < buffer_.size()) return Feed(bytes);
  Feed("");
  buffer_ = std::move(bytes);
}

absl::string_view SseSplitter::Rest() const { return absl::string_view(buffer_).substr(position_); }

// Every byte is searched once for each kind of end.
std::optional<absl::string_view> SseSplitter::NextLine() {
  const absl::string_view all(buffer_);
  if (newline_ < line_ || newline_ >= all.size() || all[newline_] != '\n') {
    newline_ = std::min(all.find('\n', std::max(newline_, line_)), all.size());
  }
  const size_t from = std::max(return_, line_);
  return_ = from < newline_ ? from + std::min(all.substr(from, newline_ - from).find('\r'), newline_ - from) : from;
  const size_t end = std::min(return_, newline_);
  if (end == all.size()) return std::nullopt;
  size_t next = end + 1;
  if (all[end] == '\n') {
    lone_return_ = false;
  } else if (end > line_ || !lone_return_) {
    // The next byte shows whether this is the whole line end.
    if (next == all.size()) return std::nullopt;
    lone_return_ = all[next] != '\n';
    if (!lone_return_) ++next;
  }
  const absl::string_view line = all.substr(line_, end - line_);
  line_ = next;
  return line;
}

std::optional<SseSplitter::Event> SseSplitter::Next() {
  const absl::string_view all(buffer_);
  const bool seen_whole = line_ == position_;
  absl::string_view first;
  while (true) {
    const std::optional<absl::string_view> line = NextLine();
    if (!line) return std::nullopt;
    if (line->empty()) break;
    if (++lines_ == 1) first = *line;
    if (lines_ > kMostLines) break;
  }
  const int count = std::exchange(lines_, 0);
  // A flood of blank lines costs no event each.
  while (count == 0 && !lone_return_ && line_ < all.size() && all[line_] == '\n') ++line_;
  Event event;
  event.raw = all.substr(position_, line_ - position_);
  const bool stream_begins = !std::exchange(begun_, true);
  position_ = line_;
  // Nearly all events have one data line.
  if (count > kMostLines) {
    event.garbled = true;
    return event;
  }
  if (seen_whole && count == 1 && TakeField(first, "data", &event.data)) return event;
  absl::string_view lines = event.raw;
  if (stream_begins) absl::ConsumePrefix(&lines, kByteOrderMark);
  ReadLines(lines, event);
  return event;
}

void SseSplitter::ReadLines(absl::string_view lines, Event& event) {
  int data_lines = 0;
  while (!lines.empty()) {
    const absl::string_view line = TakeWholeLine(lines);
    absl::string_view value;
    if (TakeField(line, "event", &value)) event.name = value;
    if (!TakeField(line, "data", &value)) {
      event.garbled = event.garbled || !MayLackData(line);
      continue;
    }
    if (++data_lines == 1) {
      event.data = value;
      continue;
    }
    if (data_lines == 2) joined_.assign(event.data.data(), event.data.size());
    joined_.append(1, '\n').append(value.data(), value.size());
    event.data = joined_;
  }
  event.comment = data_lines == 0 && event.name.empty();
}

}  // namespace penstock
