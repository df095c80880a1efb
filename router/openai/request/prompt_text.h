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
#include "router/openai/prompt/prompt_keys.h"
#include "router/openai/prompt/prompt_places.h"

namespace penstock {

struct PromptText {
  TextCounts text;     // The text of all prompts.
  TextCounts largest;  // The text of the largest prompt.
  MediaCounts media;   // The parts that are no text, of all prompts.
  int64_t prompts = 1;
  bool is_text = false;  // Messages or one string: no token ids, no list.
  bool ends_with_assistant = false;
};

class PromptScan {
 public:
  using Shape = PromptShape;
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

  // Adds what stands beside each prompt.
  void AddToEach(const PromptText& texts);
  // Adds as many texts as there are prompts, one beside each.
  void AddPairs(const PromptText& texts);
  const std::optional<ApiError>& error() const { return error_; }
  const PromptText& text() const { return result_; }

 private:
  using Place = PromptPlace;
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
    int64_t ids = 0;          // Elements that are token ids.
    int64_t inner = 0;        // Elements of the list of token ids at the walk.
    TextCounts inner_counts;  // Their tokens and texts.
    bool wrong = false;
  };
  // The element at the walk, in a shape that has them.
  struct Element {
    TextCounts text;
    bool members = false;
  };
  enum class Counting : uint8_t { kNothing, kText, kRaw };

  Level& top() { return levels_[depth_]; }
  PromptPoint point() const { return {levels_[depth_].place, levels_[depth_].use, depth_}; }
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
  Element element_;
  PromptText result_;
  std::optional<ApiError> error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_PROMPT_TEXT_H_
