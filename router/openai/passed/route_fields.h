// The fields of a JSON body that a configured route names: the model, and the texts of the prompt.
//
// A visitor of a JsonWalk. The text of every string below a field of the prompt counts, down to the depth that the walk
// reports. Pure; lives as long as the body and the rule.
#ifndef PENSTOCK_ROUTER_OPENAI_PASSED_ROUTE_FIELDS_H_
#define PENSTOCK_ROUTER_OPENAI_PASSED_ROUTE_FIELDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kvmodel/prompt/text_counts.h"
#include "router/openai/request/json_cursor.h"

namespace penstock {

class RouteFields {
 public:
  // `model` empty: it stands elsewhere.
  RouteFields(absl::string_view body, absl::string_view model, const std::vector<std::string>& prompts)
      : body_(body), model_(model), prompts_(prompts) {}

  // The methods of a visitor.
  void Key(absl::string_view raw, bool escaped);
  bool Open(const char* at);
  TextCounter* Text(const char* at);
  void Close() { --depth_; }
  void End(absl::string_view raw);

  const std::optional<JsonSpan>& model_at() const { return model_at_; }
  // The model occurs twice.
  bool twice() const { return twice_; }
  const TextCounts& text() const { return text_; }
  // A field of the prompt occurs.
  bool any_prompt() const { return any_prompt_; }

 private:
  enum class At : uint8_t { kNothing, kModel, kPrompt };

  const absl::string_view body_;
  const absl::string_view model_;
  const std::vector<std::string>& prompts_;
  int depth_ = 0;  // Containers that are open and reported.
  At at_ = At::kNothing;
  bool counting_ = false;
  bool twice_ = false;
  bool any_prompt_ = false;
  std::optional<JsonSpan> model_at_;
  TextCounter counter_;
  TextCounts text_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_PASSED_ROUTE_FIELDS_H_
