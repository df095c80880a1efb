#include "router/openai/passed/route_fields.h"

#include <algorithm>

#include "base/json_string.h"
#include "router/openai/request/json_walk.h"

namespace penstock {
namespace {

// Bytes of a key with escapes that may be one of the rule.
constexpr size_t kLongestEscaped = 1024;

}  // namespace

void RouteFields::Key(absl::string_view raw, bool escaped) {
  if (depth_ != 1) return;
  std::string plain;
  if (escaped && raw.size() <= kLongestEscaped) AppendUnescaped(raw, &plain);
  const absl::string_view key = escaped ? absl::string_view(plain) : raw;
  at_ = At::kNothing;
  if (!model_.empty() && key == model_) {
    at_ = At::kModel;
  } else if (std::find(prompts_.begin(), prompts_.end(), key) != prompts_.end()) {
    at_ = At::kPrompt;
    any_prompt_ = true;
  }
}

bool RouteFields::Open(const char*) {
  const bool inside = depth_ == 0 || (at_ == At::kPrompt && depth_ + 1 < JsonWalk::kMaxReported);
  if (inside) ++depth_;
  return inside;
}

TextCounter* RouteFields::Text(const char*) {
  counting_ = depth_ > 0 && at_ == At::kPrompt;
  if (!counting_) return nullptr;
  counter_ = TextCounter();
  return &counter_;
}

void RouteFields::End(absl::string_view raw) {
  if (counting_) text_ += counter_.counts();
  counting_ = false;
  if (depth_ != 1 || at_ != At::kModel) return;
  twice_ |= model_at_.has_value();
  model_at_ = SpanIn(body_, raw);
}

}  // namespace penstock
