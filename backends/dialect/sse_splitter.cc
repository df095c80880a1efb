#include "backends/dialect/sse_splitter.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

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

// A line without data: blank, a comment, or another field.
bool MayLackData(absl::string_view line) {
  absl::string_view value;
  return line.empty() || line.front() == ':' || TakeField(line, "event", &value) || TakeField(line, "id", &value) ||
         TakeField(line, "retry", &value);
}

}  // namespace

void SseSplitter::Feed(absl::string_view bytes) {
  if (position_ == buffer_.size()) {
    buffer_.clear();
  } else if (position_ > 0) {
    buffer_.erase(0, position_);
  }
  scanned_ -= position_;
  position_ = 0;
  buffer_.append(bytes.data(), bytes.size());
}

absl::string_view SseSplitter::Rest() const { return absl::string_view(buffer_).substr(position_); }

std::optional<SseSplitter::Event> SseSplitter::Next() {
  const absl::string_view all(buffer_);
  const bool seen_whole = scanned_ == position_;
  absl::string_view first;
  int count = 0;
  while (true) {
    const size_t newline = all.find('\n', scanned_);
    if (newline == absl::string_view::npos) return std::nullopt;
    const absl::string_view line = absl::StripSuffix(all.substr(scanned_, newline - scanned_), "\r");
    scanned_ = newline + 1;
    if (line.empty()) break;
    if (++count == 1) first = line;
  }
  Event event;
  event.raw = all.substr(position_, scanned_ - position_);
  position_ = scanned_;
  // Nearly all events have one data line.
  if (seen_whole && count == 1 && TakeField(first, "data", &event.data)) return event;

  int data_lines = 0;
  absl::string_view lines = event.raw;
  while (!lines.empty()) {
    const size_t newline = lines.find('\n');
    const absl::string_view line = absl::StripSuffix(lines.substr(0, newline), "\r");
    lines.remove_prefix(newline + 1);
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
  return event;
}

}  // namespace penstock
