// The routes of the OpenAI dialect that carry inference requests.
#ifndef PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_
#define PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_

#include <cstdint>

namespace penstock {

enum class Endpoint : uint8_t { kChat, kCompletions, kEmbeddings, kResponses, kRerank };

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ENDPOINT_H_
