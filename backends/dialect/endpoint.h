// The routes of the OpenAI dialect that carry inference requests, and the fields that limit the output there.
//
// Engines differ in the fields that they read: each has a table of rows (backends/engines). Values; pure.
#ifndef PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_
#define PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace penstock {

enum class Endpoint : uint8_t { kChat, kCompletions, kEmbeddings, kResponses, kRerank };

// One field that an engine reads at one endpoint.
struct OutputLimit {
  absl::string_view field;
  Endpoint endpoint = Endpoint::kChat;
  int64_t least = 1;
  std::optional<int64_t> unlimited = std::nullopt;  // The value that means no limit.

  bool Is(absl::string_view name, Endpoint at) const { return endpoint == at && field == name; }
};

// The rows of one engine.
using OutputLimits = absl::Span<const OutputLimit>;

// The row of a field, or null.
inline const OutputLimit* FindLimit(OutputLimits limits, absl::string_view field, Endpoint endpoint) {
  for (const OutputLimit& limit : limits) {
    if (limit.Is(field, endpoint)) return &limit;
  }
  return nullptr;
}

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_
