// Counts the text of a prompt in all the shapes that requests give it. Pure.
//
// A visitor of a JsonWalk, for the value of one field of the body. Of all faults the first is stored. A member of a
// part that holds text or media stands there once: else it is a fault. A long text is counted in the slices of the
// walk.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_TEXT_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_TEXT_H_

#include <array>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "kvmodel/prompt/media_counts.h"
#include "kvmodel/prompt/text_counts.h"
#include "router/openai/error/api_error.h"
#include "router/openai/media/media_parts.h"
#include "router/openai/request/prompt_keys.h"

namespace penstock {

struct PromptText {
  TextCounts text;     // The text of all prompts.
  TextCounts largest;  // The text of the largest prompt.
  MediaCounts media;   // The parts that are no text; only chats have them, whose messages are one prompt.
  int64_t prompts = 1;
  bool is_text = false;  // Messages or one string: no token ids, no list.
  bool ends_with_assistant = false;
};

class PromptScan {
 public:
  enum class Shape : uint8_t {
    kMessages,   // A chat has a non-empty array of objects with a role and a content of text or parts.
    kPrompt,     // A string, a list of strings, token ids, or a list of token id lists.
    kItems,      // The input of responses: a string or a list of items.
    kDocuments,  // A reranking has strings or objects.
    kTexts,      // The same, or a single string or object.
    kTurns,      // Messages of Anthropic's dialect, whose content is a text or blocks.
    kBlocks,     // Its system prompt: a text or blocks.
  };
  // `field` is the name of the field and lives as long as this.
  PromptScan(Shape shape, absl::string_view field) : shape_(shape), field_(field) {}

  // The visitor's part for the field's value and its inside. `key` has its escapes resolved.
  void Key(absl::string_view key);
  bool Open(const char* at);
  TextCounter* Text(const char* at);
  void Close();
  void End(absl::string_view raw);
  // The walk pauses at `at`.
  void Pause(const char* at);

  // Adds a text that stands beside each prompt.
  void AddToEach(const TextCounts& counts);
  // Adds as many texts as there are prompts, one beside each.
  void AddPairs(const PromptText& texts);
  const std::optional<ApiError>& error() const { return error_; }
  const PromptText& text() const { return result_; }

 private:
  // A container that is open, or the field itself.
  enum class Place : uint8_t {
    kField,
    kMessages,
    kMessage,
    kContent,
    kPart,
    kPrompts,
    kIds,
    kItems,
    kItem,
    kDocuments
  };
  using Use = PromptUse;
  struct Level {
    Place place = Place::kField;
    Use use = Use::kNone;  // The use of the member at the walk.
    unsigned seen = 0;     // In a part: the bits of its members (BitOfOnce).
  };
  struct Message {
    bool role = false;
    bool content = false;
    bool assistant = false;
  };
  // A part whose picture is counted at its end: the wish for low detail may stand beside the picture.
  struct Part {
    std::optional<FoundPicture> picture;
    bool low_detail = false;
  };
  struct List {
    int64_t elements = 0;
    int64_t ids = 0;        // Elements that are token ids.
    int64_t inner_ids = 0;  // In the list of token ids at the walk.
    bool wrong = false;
  };
  enum class Counting : uint8_t { kNothing, kText, kRaw };

  Level& top() { return levels_[depth_]; }
  // The place inside of the field, where that is a list.
  Place ListPlace() const;
  void Refuse(ApiError error);
  std::string MessageField(absl::string_view member) const;
  std::string ContentField() const;
  bool Push(Place place);
  // True: the value at the walk is counted as its bytes.
  bool BeginRaw(const char* at);
  // True: a string at the walk is counted as text.
  bool CountsText() const;
  void EndField(char first, TextCounts counts);
  void EndMember(absl::string_view raw);
  void EndElement(char first, const TextCounts& counts);
  void EndMessage();
  void EndList();
  void AddPrompt(const TextCounts& counts);

  Shape shape_;
  absl::string_view field_;
  std::array<Level, 8> levels_{};
  size_t depth_ = 0;
  TextCounter counter_;
  Counting counting_ = Counting::kNothing;
  const char* raw_from_ = nullptr;  // Not counted yet.
  Message message_;
  Part part_;
  List list_;
  PromptText result_;
  std::optional<ApiError> error_;
};

constexpr bool HasMessages(PromptScan::Shape shape) {
  return shape == PromptScan::Shape::kMessages || shape == PromptScan::Shape::kTurns;
}
constexpr bool HasBlocks(PromptScan::Shape shape) {
  return shape == PromptScan::Shape::kTurns || shape == PromptScan::Shape::kBlocks;
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_TEXT_H_
