#include "router/jobs/batch/answer_row.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "router/jobs/batch/answer_use.h"
#include "router/jobs/batch/json_check.h"

namespace penstock::jobs {
namespace {

constexpr absl::string_view kTail = "},\"error\":null}\n";

}  // namespace

AnswerRow MakeAnswerRow(const LineNames& names, int status, std::vector<std::string> body) {
  AnswerRow row;
  row.text = AnswerHead(names, status);
  const size_t head = row.text.size();
  size_t size = head + kTail.size();
  for (const std::string& part : body) size += part.size();
  row.text.reserve(size);
  for (std::string& part : body) {
    row.text.append(part);
    std::string().swap(part);
  }
  const absl::string_view inside = absl::string_view(row.text).substr(head);
  row.good = IsJsonValue(inside);
  if (!row.good) {
    row.text = ErrorText(names, "answer_is_no_json", "The answer of the engine is no JSON value.");
    return row;
  }
  row.use = UseOf(inside);
  // A line break between the tokens of a JSON text is white space, and inside a string it is escaped.
  const auto breaks = [](char c) { return c == '\n' || c == '\r'; };
  std::replace_if(row.text.begin() + static_cast<std::ptrdiff_t>(head), row.text.end(), breaks, ' ');
  row.text.append(kTail.data(), kTail.size());
  return row;
}

}  // namespace penstock::jobs
