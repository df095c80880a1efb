// The fields of a form in parts (multipart/form-data) that the router reads: the model, and the texts of the prompt.
//
// The body is at hand as a whole and passes byte for byte, so the scan notes places only. It goes on in slices and
// costs a search per delimiter. Every line of the framing ends with CR LF, as RFC 2046 wants. A part with a file name
// is no field. Pure; the body and the names outlive it.
#ifndef PENSTOCK_ROUTER_OPENAI_PASSED_FORM_FIELDS_H_
#define PENSTOCK_ROUTER_OPENAI_PASSED_FORM_FIELDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kvmodel/prompt/text_counts.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/json_cursor.h"

namespace penstock {

class FormFields {
 public:
  static constexpr size_t kMostParts = 1024;
  static constexpr size_t kLongestPartHead = 16 << 10;
  static constexpr size_t kLongestBoundary = 70;
  // Spaces and tabs behind a boundary are no more than these.
  static constexpr size_t kLongestPadding = 256;

  // `model` empty: it stands elsewhere.
  FormFields(absl::string_view body, absl::string_view content_type, absl::string_view model,
             const std::vector<std::string>& prompts);

  // Reads on over about `bytes` bytes. False: call it again.
  bool Advance(size_t bytes);

  // After the last Advance.
  const std::optional<ApiError>& error() const { return error_; }
  // The place of the model's name.
  const std::optional<JsonSpan>& model_at() const { return model_at_; }
  // The model occurs twice.
  bool twice() const { return twice_; }
  const TextCounts& text() const { return text_; }
  // A field of the prompt occurs.
  bool any_prompt() const { return any_prompt_; }

 private:
  enum class State : uint8_t { kPreamble, kDelimiter, kHead, kContent, kEnded };

  bool Fail(absl::string_view message);
  // The place of `wanted` in the next `bytes` bytes; npos: the slice ends, and the position moved to its end.
  size_t Find(absl::string_view wanted, size_t bytes);
  bool Step(size_t bytes);
  bool EndDelimiter();
  bool EndHead();
  void EndContent(size_t end);

  const absl::string_view body_;
  const absl::string_view model_;
  const std::vector<std::string>& prompts_;
  std::string delimiter_;  // CR LF, two hyphens, the boundary.
  State state_ = State::kPreamble;
  size_t at_ = 0;
  size_t begin_ = 0;  // The content begins there.
  size_t parts_ = 0;
  std::string name_;  // The name of the part; empty for a file.
  bool twice_ = false;
  bool any_prompt_ = false;
  std::optional<JsonSpan> model_at_;
  TextCounts text_;
  std::optional<ApiError> error_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_PASSED_FORM_FIELDS_H_
