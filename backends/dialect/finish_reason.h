// The reasons of an end in OpenAI's words. Pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_FINISH_REASON_H_
#define PENSTOCK_BACKENDS_DIALECT_FINISH_REASON_H_

#include "absl/strings/string_view.h"

namespace penstock {

// For a `stop_reason` of Anthropic's dialect. Other words stay.
constexpr absl::string_view OpenAiReason(absl::string_view stop_reason) {
  if (stop_reason == "end_turn" || stop_reason == "stop_sequence" || stop_reason == "pause_turn") return "stop";
  if (stop_reason == "max_tokens" || stop_reason == "model_context_window_exceeded") return "length";
  if (stop_reason == "tool_use") return "tool_calls";
  return stop_reason == "refusal" ? "content_filter" : stop_reason;
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_FINISH_REASON_H_
