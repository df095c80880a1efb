// A whole chat of an engine as a message of Anthropic's dialect. Pure: it may run on any thread.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_TRANSLATED_CHAT_H_
#define PENSTOCK_ROUTER_SESSION_STATE_TRANSLATED_CHAT_H_

#include <cstdint>
#include <optional>

#include "backends/dialect/answer_reader.h"
#include "backends/dialect/engine_error.h"
#include "router/session/state/text_parts.h"

namespace penstock {

struct TranslatedChat {
  std::optional<EngineError> error;  // The engine says it instead of a chat.
  bool malformed = false;            // It is no chat.
  AnswerFacts facts;                 // Those of the message.
  TextParts message;
};

// `unique` as MessageWriter has it. Costs about 5 ns a byte.
TranslatedChat TranslateChat(TextParts chat, uint64_t unique);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_TRANSLATED_CHAT_H_
