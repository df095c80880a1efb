#include "router/openai/request/prompt_text.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_string.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

// The depth of a block in a message's own content.
constexpr size_t kDeepestPart = 4;
// With its quotes: "developer" and "assistant" are the longest.
constexpr size_t kUsualRole = 16;

ApiError Duplicate(absl::string_view field, absl::string_view key) {
  return MakeError(ErrorName::kDuplicateKey, absl::StrCat("The key `", key, "` occurs twice in `", field, "`."), field);
}

}  // namespace

void PromptScan::Refuse(ApiError error) {
  if (!error_) error_ = std::move(error);
}

std::string PromptScan::MessageField(absl::string_view member) const {
  return absl::StrCat("messages[", result_.text.messages, "]", member);
}

std::string PromptScan::ContentField() const {
  if (shape_ == Shape::kBlocks) return "system";
  return HasMessages(shape_) ? MessageField(".content") : "input.content";
}

void PromptScan::Key(absl::string_view key) {
  const Place place = top().place;
  if (HasElements(shape_)) {
    top().use = UseInElement(key);
    element_.members = true;
    if (top().use == Use::kRaw) element_.text += CountText(key);
    return;
  }
  const Use use = top().use = place == Place::kPart   ? (HasBlocks(shape_) ? UseInBlock(key) : UseInPart(key))
                              : place == Place::kItem ? UseInItem(key)
                                                      : UseInMessage(key);
  if (place == Place::kPart) {
    const unsigned bit = BitOfOnce(key);
    if ((top().seen & bit) != 0) Refuse(Duplicate(ContentField(), key));
    top().seen |= bit;
  }
  if (place != Place::kMessage) return;
  const bool twice = use == Use::kRole      ? std::exchange(message_.role, true)
                     : use == Use::kContent ? std::exchange(message_.content, true)
                                            : false;
  if (twice) Refuse(Duplicate(MessageField(""), key));
}

bool PromptScan::Push(Place place) {
  assert(depth_ + 1 < levels_.size());
  levels_[++depth_] = Level{place, Use::kNone};
  return true;
}

bool PromptScan::Open(const char* at) {
  if (BeginRaw(at)) return false;
  const bool object = *at == '{';
  if (HasElements(shape_)) {
    const std::optional<Place> inside = ElementPlace(shape_, point(), object);
    if (inside == Place::kIds) list_.inner = 0, list_.inner_counts = TextCounts();
    return inside && Push(*inside);
  }
  switch (top().place) {
    case Place::kField:
      return !object && shape_ != Shape::kOpaque && Push(ListPlace(shape_));
    case Place::kMessages:
      message_ = Message();
      return object && Push(Place::kMessage);
    case Place::kItems:
      if (object) ++result_.text.messages;
      return object && Push(Place::kItem);
    case Place::kMessage:
    case Place::kItem:
      return !object && top().use == Use::kContent && Push(Place::kContent);
    case Place::kContent:
      part_ = Part();
      return object && Push(Place::kPart);
    case Place::kPart:
      // The result of a tool has blocks of its own, and those have none.
      return !object && top().use == Use::kContent && depth_ <= kDeepestPart && Push(Place::kContent);
    default:
      return false;
  }
}

bool PromptScan::BeginRaw(const char* at) {
  const bool raw = top().use == Use::kRaw || (HasElements(shape_) && IsRawElement(point(), *at));
  if (!raw) return false;
  counter_ = TextCounter();
  counting_ = Counting::kRaw;
  raw_from_ = at;
  return true;
}

bool PromptScan::CountsText() const {
  const Level& level = levels_[depth_];
  switch (level.place) {
    case Place::kField:
      return shape_ == Shape::kPrompt || shape_ == Shape::kItems || shape_ == Shape::kTexts || shape_ == Shape::kBlocks;
    case Place::kMessage:
    case Place::kItem:
    case Place::kPart:
      return level.use == Use::kContent || level.use == Use::kText || level.use == Use::kRole;
    case Place::kContent:
    case Place::kPrompts:
    case Place::kIds:
    case Place::kDocuments:
      return true;
    default:
      return false;
  }
}

TextCounter* PromptScan::Text(const char* at) {
  if (BeginRaw(at) || !CountsText()) return nullptr;
  counter_ = TextCounter();
  counting_ = Counting::kText;
  return &counter_;
}

void PromptScan::Pause(const char* at) {
  if (counting_ != Counting::kRaw) return;
  counter_.Plain(raw_from_, at);
  raw_from_ = at;
}

void PromptScan::Close() {
  const Place place = levels_[depth_--].place;
  if (place == Place::kMessage) return EndMessage();
  if (place == Place::kPart && part_.picture) {
    const FoundPicture picture = *std::exchange(part_.picture, std::nullopt);
    result_.media.AddPicture(picture.size, part_.low_detail || picture.low_detail);
  }
  if (place != Place::kIds) return;
  list_.wrong |= list_.inner == 0;
  AddPrompt(list_.inner_counts);
}

void PromptScan::End(absl::string_view raw) {
  TextCounts counts;
  if (counting_ == Counting::kNothing && top().use == Use::kRaw) counts = CountText(raw);
  Pause(raw.data() + raw.size());
  if (std::exchange(counting_, Counting::kNothing) != Counting::kNothing) counts = counter_.counts();
  // The tokens of a message cover a role of usual length. Templates write any other into the prompt too.
  if (top().use == Use::kRole && raw.size() <= kUsualRole) counts = TextCounts();
  switch (top().place) {
    case Place::kField:
      return EndField(raw[0], counts);
    case Place::kMessage:
    case Place::kItem:
    case Place::kPart:
      (HasElements(shape_) ? element_.text : result_.text) += counts;
      return EndMember(raw);
    default:
      return EndElement(raw[0], counts);
  }
}

}  // namespace penstock
