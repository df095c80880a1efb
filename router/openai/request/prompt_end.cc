// The ends of the values of a prompt: their counts, and the faults that show only then.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_string.h"
#include "router/openai/request/prompt_text.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

constexpr absl::string_view kContentShapes = "a string or an array of content parts";
constexpr absl::string_view kPromptShapes =
    "a string, an object, a list of strings or objects, a list of token ids, or a list of such lists";

ApiError Empty(absl::string_view field, absl::string_view message) {
  return MakeError(ErrorName::kEmptyArray, absl::StrCat("`", field, "` ", message), field);
}

ApiError TooMany(absl::string_view field, int64_t count) {
  return MakeError(ErrorName::kTooManyElements,
                   absl::StrCat("`", field, "` has ", count, " elements; at most ", kMaxPrompts, " are allowed."),
                   field);
}

// Rough size for comparing elements of one list.
int64_t Weight(const TextCounts& counts) {
  return counts.latin + counts.digits + counts.space + counts.other + 4 * (counts.cjk + counts.exact_tokens);
}

bool IsNumber(char first) { return first == '-' || (first >= '0' && first <= '9'); }

void CountSound(absl::string_view raw, MediaCounts& media) {
  const std::optional<double> seconds = SecondsIn(raw);
  media.seconds += seconds.value_or(0);
  media.opaque += seconds ? 0 : 1;
}

// A picture, a sound or what else is no text, in an element. False: it is text, or nothing.
bool CountMedia(PromptUse use, absl::string_view raw, MediaCounts& media) {
  const bool counts = use == PromptUse::kPicture || use == PromptUse::kSound || use == PromptUse::kUnknownSize;
  if (!counts || raw[0] == 'n') return false;
  const bool readable = raw[0] == '{' || raw[0] == '"';
  if (use == PromptUse::kPicture && readable) {
    const FoundPicture picture = PictureIn(raw);
    media.AddPicture(picture.size, picture.low_detail);
  } else if (use == PromptUse::kSound && readable) {
    CountSound(raw, media);
  } else {
    ++media.opaque;
  }
  return true;
}

void CountSource(absl::string_view raw, PromptText& prompt) {
  const SourceKind kind = SourceKindOf(raw);
  if (kind == SourceKind::kPicture) return prompt.media.AddPicture(PictureIn(raw).size, false);
  (kind == SourceKind::kText ? prompt.text.tool_bytes : prompt.media.opaque) +=
      kind == SourceKind::kText ? static_cast<int64_t>(raw.size()) : 1;
}

bool IsAssistant(absl::string_view literal) {
  constexpr size_t kLongest = 64;  // With every character escaped.
  return literal.size() <= kLongest && UnescapeJson(literal.substr(1, literal.size() - 2)) == "assistant";
}

}  // namespace

void PromptScan::EndField(char first, TextCounts counts) {
  if (first == 'n') return;  // Counts as absent.
  if (shape_ == Shape::kOpaque) {
    ++result_.media.opaque;
    return;
  }
  if (first == '[') return EndList();
  const bool text = first == '"' && CountsText();
  if (text) {
    if (shape_ == Shape::kItems) counts.messages = 1;
    result_.is_text = shape_ == Shape::kPrompt;
    return AddPrompt(counts);
  }
  if (first == '{' && HasElements(shape_) && (element_.members || list_.elements > 0 || shape_ != Shape::kPrompt)) {
    if (list_.elements == 0) return AddPrompt(element_.text);
    EndList();
    result_.text += element_.text;
    result_.largest += element_.text;
    return;
  }
  Refuse(WrongType(field_, HasMessages(shape_)        ? "an array of messages"
                           : shape_ == Shape::kPrompt ? kPromptShapes
                           : shape_ == Shape::kItems  ? "a string or an array of items"
                           : shape_ == Shape::kBlocks ? kContentShapes
                           : shape_ == Shape::kTexts  ? "a text or an array of texts"
                                                      : "an array of texts"));
}

void PromptScan::EndMember(absl::string_view raw) {
  if (HasElements(shape_)) {
    // A template writes marks around it.
    if (CountMedia(top().use, raw, result_.media)) element_.text.messages = 1;
    return;
  }
  const char first = raw[0];
  switch (top().use) {
    case Use::kRole:
      if (first != '"') return Refuse(WrongType(MessageField(".role"), "a string"));
      message_.assistant = IsAssistant(raw);
      return;
    case Use::kContent:
      if (first != '"' && first != '[' && first != 'n') Refuse(WrongType(ContentField(), kContentShapes));
      return;
    case Use::kPicture:
      if (first == '"' || first == '{') part_.picture = PictureIn(raw);
      return;
    case Use::kDetail:
      part_.low_detail = raw == "\"low\"";
      return;
    case Use::kSound:
      if (first == '{') CountSound(raw, result_.media);
      return;
    case Use::kSource:
      if (first == '{') CountSource(raw, result_);
      return;
    case Use::kUnknownSize:
      ++result_.media.opaque;
      return;
    default:
      return;
  }
}

void PromptScan::EndElement(char first, const TextCounts& counts) {
  switch (top().place) {
    case Place::kMessages:
      if (first != '{') Refuse(WrongType(MessageField(""), "an object"));
      return;
    case Place::kItems:
      if (first != '{') Refuse(WrongType(field_, "a string or an array of items"));
      return;
    case Place::kContent:
      if (HasElements(shape_)) {
        element_.text += counts;
        if (IsNumber(first)) ++element_.text.exact_tokens;
        return;
      }
      result_.text += counts;
      if (first != '{' && first != '"') Refuse(WrongType(ContentField(), kContentShapes));
      return;
    case Place::kIds:
      ++list_.inner;
      list_.inner_counts += counts;
      if (IsNumber(first)) ++list_.inner_counts.exact_tokens;
      list_.wrong |= !IsNumber(first) && first != '"';
      return;
    case Place::kDocuments:
      ++list_.elements;
      if (first == '"') return AddPrompt(counts);
      if (first != '{' && first != '[') return Refuse(WrongType(field_, "an array of strings or objects"));
      return AddPrompt(std::exchange(element_, Element()).text);
    default:
      break;
  }
  ++list_.elements;
  if (first == '"') return AddPrompt(counts);
  if (first == '{') {
    list_.wrong |= !element_.members;
    return AddPrompt(std::exchange(element_, Element()).text);
  }
  if (IsNumber(first)) {
    ++list_.ids;
  } else {
    list_.wrong |= first != '[';
  }
}

void PromptScan::EndMessage() {
  if (!message_.role) {
    Refuse(MakeError(ErrorName::kMissingField, absl::StrCat("`", MessageField(".role"), "` is missing."),
                     MessageField(".role")));
  }
  ++result_.text.messages;
  result_.ends_with_assistant = message_.assistant;
}

void PromptScan::EndList() {
  if (shape_ == Shape::kBlocks) return;
  if (HasMessages(shape_) || shape_ == Shape::kItems) {
    const bool chat = HasMessages(shape_);
    if (result_.text.messages == 0) {
      Refuse(Empty(field_, chat ? "must have at least one message." : "must have at least one item."));
    }
    result_.largest = result_.text;
    result_.is_text = chat;
    return;
  }
  if (shape_ != Shape::kPrompt) {
    if (list_.elements == 0) return Refuse(Empty(field_, "must have at least one document."));
  } else if (list_.elements == 0) {
    return Refuse(Empty(field_, "must not be empty."));
  }
  if (list_.wrong) return Refuse(WrongType(field_, kPromptShapes));
  if (list_.ids > 0) {  // One prompt of token ids; llama-server reads texts between them.
    result_.text.exact_tokens += list_.ids;
    result_.largest = result_.text;
    return;
  }
  if (list_.elements > kMaxPrompts) return Refuse(TooMany(field_, list_.elements));
  result_.prompts = list_.elements;
}

void PromptScan::AddPrompt(const TextCounts& counts) {
  result_.text += counts;
  if (Weight(counts) >= Weight(result_.largest)) result_.largest = counts;
}

void PromptScan::AddToEach(const PromptText& texts) {
  if (error_) return;
  for (int64_t i = 0; i < result_.prompts; ++i) {
    result_.text += texts.text;
    result_.media.Add(texts.media);
  }
  result_.largest += texts.text;
}

void PromptScan::AddPairs(const PromptText& texts) {
  if (error_) return;
  result_.text += texts.text;
  result_.largest += texts.largest;
  result_.media.Add(texts.media);
}

}  // namespace penstock
