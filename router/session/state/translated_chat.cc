#include "router/session/state/translated_chat.h"

#include <string>
#include <utility>

#include "backends/dialect/endpoint.h"
#include "router/anthropic/message_writer.h"

namespace penstock {

TranslatedChat TranslateChat(TextParts chat, uint64_t unique) {
  TranslatedChat made;
  const std::string body = chat.Join();
  const AnswerFacts facts = ReadAnswer(Endpoint::kChat, body);
  if (facts.error) {
    made.error = ErrorInAnswer(body);
    return made;
  }
  std::optional<std::string> message = anthropic::MessageWriter(unique).Whole(body);
  made.malformed = facts.malformed || !message;
  if (made.malformed) return made;
  made.facts = ReadAnswer(Endpoint::kMessages, *message);
  // The message leaves impossible counts out; they are to be reported.
  made.facts.usage = facts.usage;
  made.message = TextParts(*std::move(message));
  return made;
}

}  // namespace penstock
