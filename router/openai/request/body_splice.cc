#include "router/openai/request/body_splice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/dialect/handover/handover.h"
#include "router/openai/error/api_error.h"

namespace penstock {

SplicedBody::SplicedBody(absl::string_view body, Endpoint endpoint, const RequestFacts& facts,
                         const SpliceOrder& order) {
  if (facts.model_at && !order.engine_model.empty() && order.engine_model != facts.model) {
    Replace(*facts.model_at, facts.in_form ? std::string(order.engine_model) : JsonQuote(order.engine_model));
  }
  if (order.prompt_only) {
    SplicePromptOnly(facts);
  } else {
    SpliceStream(facts, order);
  }
  if (!order.handover.empty()) SpliceHandover(facts, order);
  if (!order.response_id.empty()) {
    const std::string id = JsonQuote(order.response_id);
    if (facts.request_id_at) {
      Replace(*facts.request_id_at, id);
    } else {
      InsertField(absl::StrCat("\"request_id\":", id));
    }
  }
  if (order.continue_from) SpliceContinuation(endpoint, facts, order);
  if (!new_fields_.empty()) {
    const size_t end = body.rfind('}');
    Replace(JsonSpan{end, end}, std::exchange(new_fields_, ""));
  }
  Cut(body);
}

std::string SplicedBody::Joined() const { return absl::StrJoin(pieces_, ""); }

void SplicedBody::Replace(JsonSpan at, std::string text) { edits_.push_back(Edit{at, std::move(text)}); }

// The body has at least the model field, so a leading comma is always right.
void SplicedBody::InsertField(absl::string_view field) { absl::StrAppend(&new_fields_, ",", field); }

void SplicedBody::SpliceStream(const RequestFacts& facts, const SpliceOrder& order) {
  if (order.force_stream && (!facts.stream || facts.stream_inside)) {
    if (facts.stream_at) {
      Replace(*facts.stream_at, "true");
    } else {
      InsertField("\"stream\":true");
    }
  }
  if (!order.ask_usage || (facts.asks_usage && !facts.stream_inside)) return;
  if (facts.include_usage_at) {
    Replace(*facts.include_usage_at, "true");
  } else if (!facts.stream_options_at) {
    InsertField("\"stream_options\":{\"include_usage\":true}");
  } else if (facts.stream_options_empty) {
    Replace(*facts.stream_options_at, "{\"include_usage\":true}");
  } else {
    const size_t inside = facts.stream_options_at->begin + 1;
    Replace(JsonSpan{inside, inside}, "\"include_usage\":true,");
  }
}

void SplicedBody::SpliceHandover(const RequestFacts& facts, const SpliceOrder& order) {
  if (facts.handover_at) return Replace(*facts.handover_at, std::string(order.handover));
  InsertField(absl::StrCat("\"", kHandoverField, "\":", order.handover));
}

void SplicedBody::SplicePromptOnly(const RequestFacts& facts) {
  if (facts.stream_at) Replace(*facts.stream_at, "false");
  if (facts.stream_options_at) Replace(*facts.stream_options_at, "null");
  // vLLM refuses a least length above the limit.
  if (facts.min_tokens_at) Replace(*facts.min_tokens_at, "0");
  bool limited = false;
  for (const GivenLimits* given : {&facts.limits, &facts.null_limits}) {
    for (const GivenLimit& limit : *given) {
      Replace(limit.at, "1");
      limited |= limit.field == "max_tokens";
    }
  }
  if (!limited) InsertField("\"max_tokens\":1");
}

void SplicedBody::SpliceContinuation(Endpoint endpoint, const RequestFacts& facts, const SpliceOrder& order) {
  const JsonSpan prompt = *facts.prompt_at;
  const size_t last = prompt.end - 1;  // The closing quote or bracket.
  if (endpoint == Endpoint::kChat) {
    Replace(JsonSpan{last, last}, absl::StrCat(",{\"role\":\"assistant\",\"content\":\"", *order.continue_from, "\"}"));
    InsertField("\"continue_final_message\":true,\"add_generation_prompt\":false");
  } else if (endpoint == Endpoint::kMessages) {
    // A last message of the assistant is the beginning of the answer.
    Replace(JsonSpan{last, last}, absl::StrCat(",{\"role\":\"assistant\",\"content\":\"", *order.continue_from, "\"}"));
  } else {
    Replace(JsonSpan{last, last}, std::string(*order.continue_from));
  }
  if (order.prompt_only) return;
  for (const GivenLimit& limit : facts.limits) {
    if (!limit.value) continue;
    const int64_t left = std::max<int64_t>(1, *limit.value - order.already_generated.value());
    Replace(limit.at, absl::StrCat(left));
  }
}

void SplicedBody::Cut(absl::string_view body) {
  std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.at.begin < b.at.begin; });
  owned_.reserve(edits_.size());  // Views into it stay.
  pieces_.reserve(2 * edits_.size() + 1);
  size_t from = 0;
  for (Edit& edit : edits_) {
    if (edit.at.begin > from) pieces_.push_back(body.substr(from, edit.at.begin - from));
    owned_.push_back(std::move(edit.text));
    pieces_.push_back(owned_.back());
    from = edit.at.end;
  }
  if (from < body.size()) pieces_.push_back(body.substr(from));
  edits_.clear();
}

}  // namespace penstock
