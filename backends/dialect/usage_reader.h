// The usage object of streams and answers. Pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_USAGE_READER_H_
#define PENSTOCK_BACKENDS_DIALECT_USAGE_READER_H_

#include <optional>

#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage.h"

namespace penstock {

// Consumes one value. A missing count is zero. prompt_tokens and input_tokens mean the same, and so do
// completion_tokens and output_tokens. The cached part of the prompt is in their details. An object without counts
// leaves `usage` alone. False when the value is not JSON.
bool ReadUsage(JsonScanner& scanner, std::optional<Usage>* usage);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_USAGE_READER_H_
