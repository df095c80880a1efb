#include "router/openai/answer/message_blocks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/dialect/finish_reason.h"
#include "backends/dialect/messages/message_events.h"
#include "router/openai/answer/chunk_rewrite.h"
#include "router/openai/request/json_cursor.h"

namespace penstock {
namespace {

// An engine that names a higher index is wrong.
constexpr int64_t kMostBlocks = int64_t{1} << 20;

std::string StopEvent(int64_t block) {
  return absl::StrCat("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":", block, "}\n\n");
}

// The event with other values of some members.
class Edited {
 public:
  explicit Edited(const SseSplitter::Event& event) : data_(event.data) {
    if (!event.name.empty()) absl::StrAppend(&text_, "event: ", event.name, "\n");
    absl::StrAppend(&text_, "data: ");
  }
  void Replace(const JsonSpan& at, absl::string_view text) {
    AppendOnOneLine(data_.substr(copied_, at.begin - copied_), text_);
    absl::StrAppend(&text_, text);
    copied_ = at.end;
  }
  std::string Take() {
    AppendOnOneLine(data_.substr(copied_), text_);
    absl::StrAppend(&text_, "\n\n");
    return std::move(text_);
  }

 private:
  const absl::string_view data_;
  std::string text_;
  size_t copied_ = 0;
};

}  // namespace

void MessageBlocks::OnPassed(const StreamFacts& facts) {
  if (facts.part == MessagePart::kBlockStart) {
    open_ = std::clamp<int64_t>(facts.block, 0, kMostBlocks);
    next_ = *open_ + 1;
  } else if (facts.part == MessagePart::kBlockStop) {
    open_.reset();
  }
}

bool MessageBlocks::Joins(const StreamFacts& facts) const {
  if (facts.part == MessagePart::kStart) return true;
  return facts.part == MessagePart::kBlockStart && !facts.other_text && IsOpen() && !shift_;
}

void MessageBlocks::Join(const StreamFacts& facts) {
  if (facts.part == MessagePart::kBlockStart) shift_ = *open_ - std::clamp<int64_t>(facts.block, 0, kMostBlocks);
}

std::string MessageBlocks::Stop() {
  if (!IsOpen()) return "";
  std::string event = StopEvent(*open_);
  open_.reset();
  return event;
}

std::string MessageBlocks::Continued(const SseSplitter::Event& event, const StreamFacts& facts, absl::string_view fresh,
                                     const Usage& usage) {
  if (Joins(facts)) return Join(facts), "";
  if (!facts.content.empty() && fresh.empty()) return "";
  const int64_t block = std::clamp<int64_t>(facts.block, 0, kMostBlocks);
  std::string before;
  if (facts.part == MessagePart::kBlockStart || facts.part == MessagePart::kEnd) before = Stop();
  if (facts.part == MessagePart::kBlockStart) {
    shift_ = next_ - block;
    open_ = next_++;
  }
  // Some engines leave the beginning of a block out.
  if (facts.part == MessagePart::kBlockDelta && !shift_ && IsOpen()) shift_ = *open_ - block;
  const int64_t shift = shift_.value_or(0);
  if (facts.part == MessagePart::kBlockStop) open_.reset();
  Edited edited(event);
  const JsonValue object = ValueAt(event.data, 0);
  JsonObject members(object);
  JsonSpan content;
  if (!facts.content.empty()) content.begin = static_cast<size_t>(facts.content.data() - event.data.data());
  content.end = content.begin + facts.content.size();
  while (const auto member = members.Next()) {
    const JsonSpan at = member->value.span;
    if (member->key == "index" && shift != 0) {
      edited.Replace(at, absl::StrCat(block + shift));
    } else if (member->key == "usage" && facts.part == MessagePart::kEnd) {
      const bool repeats = facts.usage && facts.usage->prompt > Tokens(0);
      edited.Replace(at, repeats ? MessageUsage(usage) : OutputUsage(usage.output));
    } else if (content.size() > 0 && content.begin >= at.begin && content.end <= at.end) {
      edited.Replace(content, fresh);
    }
  }
  return before + edited.Take();
}

std::string MessageBlocks::Closing(absl::string_view finish_reason, Tokens output) const {
  std::string events;
  if (!finish_reason.empty()) {
    if (IsOpen()) events = StopEvent(*open_);
    absl::StrAppend(&events, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"",
                    AnthropicReason(finish_reason), "\",\"stop_sequence\":null},\"usage\":", OutputUsage(output),
                    "}\n\n");
  }
  return events + std::string(kMessageStop);
}

}  // namespace penstock
