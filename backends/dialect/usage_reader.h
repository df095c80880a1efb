// The usage object, which streams and answers share.
#ifndef PENSTOCK_BACKENDS_DIALECT_USAGE_READER_H_
#define PENSTOCK_BACKENDS_DIALECT_USAGE_READER_H_

#include <optional>

#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage.h"

namespace penstock {

// Consumes one value. Counts that are missing or not numbers are zero; prompt_tokens and input_tokens mean the same, as
// do completion_tokens and output_tokens. What tells no count leaves `usage` alone. False when it is not JSON.
bool ReadUsage(JsonScanner& scanner, std::optional<Usage>* usage);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_USAGE_READER_H_
