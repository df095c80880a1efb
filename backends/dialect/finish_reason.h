// The reasons of an end in OpenAI's words and in Anthropic's. Pure.
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

// The other way round; words that Anthropic's dialect lacks end the turn.
constexpr absl::string_view AnthropicReason(absl::string_view finish_reason) {
  if (finish_reason == "length") return "max_tokens";
  if (finish_reason == "tool_calls" || finish_reason == "function_call") return "tool_use";
  return finish_reason == "content_filter" ? "refusal" : "end_turn";
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_FINISH_REASON_H_
