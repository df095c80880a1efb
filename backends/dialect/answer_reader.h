// The meaning of a whole answer, without a stream. Pure and thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_ANSWER_READER_H_
#define PENSTOCK_BACKENDS_DIALECT_ANSWER_READER_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/usage.h"

namespace penstock {

struct AnswerFacts {
  std::optional<Usage> usage;
  std::string finish_reason;  // The reason of the first choice; "length" when any choice has it.
  bool malformed = false;     // Not a JSON object in UTF-8. The other fields are then at their defaults.
};

AnswerFacts ReadAnswer(Endpoint endpoint, absl::string_view body);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ANSWER_READER_H_
