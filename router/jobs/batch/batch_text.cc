#include "router/jobs/batch/batch_text.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "router/openai/error/api_error.h"

namespace penstock::jobs {
namespace {

std::string TimeOf(const std::optional<UnixSeconds>& time) { return time ? absl::StrCat(time->value()) : "null"; }

std::string OrNull(absl::string_view text) { return text.empty() ? "null" : JsonQuote(text); }

std::string OrNullJson(const std::string& json) { return json.empty() ? "null" : json; }

std::string CountsJson(const LineCounts& counts) {
  return absl::StrCat("{\"total\":", counts.total, ",\"completed\":", counts.completed, ",\"failed\":", counts.failed,
                      "}");
}

std::string UseJson(const std::optional<TokenUse>& use) {
  if (!use) return "null";
  return absl::StrCat("{\"input_tokens\":", use->input.value(),
                      ",\"input_tokens_details\":{\"cached_tokens\":", use->cached.value(),
                      "},\"output_tokens\":", use->output.value(),
                      ",\"output_tokens_details\":{\"reasoning_tokens\":", use->reasoning.value(),
                      "},\"total_tokens\":", (use->input + use->output).value(), "}");
}

std::string TimesJson(const Batch& batch) {
  constexpr std::array<std::pair<const char*, BatchStatus>, 7> kTimes = {{{"in_progress_at", BatchStatus::kInProgress},
                                                                          {"finalizing_at", BatchStatus::kFinalizing},
                                                                          {"completed_at", BatchStatus::kCompleted},
                                                                          {"failed_at", BatchStatus::kFailed},
                                                                          {"expired_at", BatchStatus::kExpired},
                                                                          {"cancelling_at", BatchStatus::kCancelling},
                                                                          {"cancelled_at", BatchStatus::kCancelled}}};
  std::string json = absl::StrCat("\"created_at\":", batch.created_at().value());
  for (const auto& [name, status] : kTimes) absl::StrAppend(&json, ",\"", name, "\":", TimeOf(batch.Began(status)));
  return absl::StrCat(json, ",\"expires_at\":", batch.expires_at.value());
}

}  // namespace

std::string BatchJson(const Batch& batch) {
  const std::string errors =
      batch.errors.empty() ? "null" : absl::StrCat("{\"object\":\"list\",\"data\":", batch.errors, "}");
  return absl::StrCat(
      "{\"id\":", JsonQuote(batch.id), ",\"object\":\"batch\",\"endpoint\":", JsonQuote(batch.endpoint),
      ",\"model\":", OrNull(batch.model), ",\"errors\":", errors, ",\"input_file_id\":", JsonQuote(batch.input_file_id),
      ",\"completion_window\":", JsonQuote(batch.completion_window), ",\"status\":\"",
      kBatchStatusNames[static_cast<size_t>(batch.status)], "\",\"output_file_id\":", OrNull(batch.output_file_id),
      ",\"error_file_id\":", OrNull(batch.error_file_id), ",", TimesJson(batch),
      ",\"request_counts\":", CountsJson(batch.counts), ",\"usage\":", UseJson(batch.use),
      ",\"metadata\":", OrNullJson(batch.metadata), "}");
}

std::string LineId(absl::string_view batch_id, int64_t number) {
  return absl::StrCat("batch_req_", absl::StripPrefix(batch_id, "batch_"), "_", number);
}

std::string AnswerHead(const LineNames& names, int status) {
  return absl::StrCat("{\"id\":", JsonQuote(names.id), ",\"custom_id\":", OrNull(names.custom_id),
                      ",\"response\":{\"status_code\":", status, ",\"request_id\":", JsonQuote(names.id), ",\"body\":");
}

std::string ErrorText(const LineNames& names, absl::string_view code, absl::string_view message, FaultPlace place) {
  return absl::StrCat("{\"id\":", JsonQuote(names.id), ",\"custom_id\":", OrNull(names.custom_id),
                      ",\"response\":null,\"error\":{\"code\":", JsonQuote(code), ",\"message\":", JsonQuote(message),
                      place.line > 0 ? absl::StrCat(",\"line\":", place.line) : "",
                      place.column > 0 ? absl::StrCat(",\"column\":", place.column) : "", "}}\n");
}

std::string BatchErrorJson(const BatchError& error) {
  return absl::StrCat("{\"code\":", JsonQuote(error.code), ",\"message\":", JsonQuote(error.message),
                      ",\"param\":", OrNull(error.param),
                      ",\"line\":", error.line > 0 ? absl::StrCat(error.line) : "null", "}");
}

}  // namespace penstock::jobs
