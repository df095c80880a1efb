#include "router/jobs/run/batch_errors.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "router/jobs/batch/batch_request.h"
#include "router/jobs/batch/batch_text.h"
#include "router/openai/request/json_cursor.h"

namespace penstock::jobs {

std::string ListOf(const std::vector<std::string>& errors) {
  return errors.empty() ? "" : absl::StrCat("[", absl::StrJoin(errors, ","), "]");
}

std::vector<std::string> ErrorsOf(absl::string_view list) {
  std::vector<std::string> errors;
  if (list.empty()) return errors;
  JsonArray elements(ValueAt(list, 0));
  while (const std::optional<JsonValue> element = elements.Next()) errors.emplace_back(element->raw());
  return errors;
}

std::string TooLargeError(const std::string& message) {
  return BatchErrorJson({"batch_too_large", message, "input_file_id", 0});
}

std::string TooLargeList(const Job& job) { return ListOf({TooLargeError(job.faults.too_large)}); }

std::string UnreadError(const Job& job) {
  const std::string message =
      absl::StrCat("The batch ended while its input was validated. The first ", job.batch.counts.total,
                   " lines were read; no file of the batch has the others.");
  return BatchErrorJson({"input_not_validated", message, "input_file_id", 0});
}

LineAnswer ExpiredAnswer(const Job& job, const LineTask& task) {
  const LineNames names{LineId(job.batch.id, task.line.number), task.custom_id};
  std::string message = "This request could not be executed before the completion window expired.";
  const auto refusal = job.refusals.find(task.line.number);
  if (refusal != job.refusals.end()) absl::StrAppend(&message, " Its last run ended with ", refusal->second);
  return {job.batch.key, task.line.number, /*failed=*/true, ErrorText(names, "batch_expired", message)};
}

}  // namespace penstock::jobs
