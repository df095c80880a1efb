// Reads one line of a batch's input, as OpenAI has it: {"custom_id", "method", "url", "body"}. Pure.
//
// The grammar of the whole line is checked, so a fault has its column. The body stays as it is: its own fields are
// judged when it runs. Cost: one pass over the line.
#ifndef PENSTOCK_ROUTER_JOBS_INPUT_BATCH_LINE_H_
#define PENSTOCK_ROUTER_JOBS_INPUT_BATCH_LINE_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"

namespace penstock::jobs {

struct BatchLine {
  std::string custom_id;
  std::string model;
  absl::string_view body;  // A JSON object, part of the line.
};

// OpenAI's words for faults of lines.
struct LineFault {
  std::string code;         // As "invalid_json_line".
  std::string message;      // Names the line's field and the column.
  std::string param;        // The field; empty: none.
  int64_t column = 0;       // From 1, in characters; 0: the fault has no place.
  std::string custom_id{};  // Of the line; empty: it cannot be read, or is a fault itself.
};

// `url`: the endpoint of the batch. A long custom_id is a fault, because it is repeated in the answers.
inline constexpr size_t kMaxCustomId = 512;
std::variant<BatchLine, LineFault> ReadBatchLine(absl::string_view line, absl::string_view url);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_INPUT_BATCH_LINE_H_
