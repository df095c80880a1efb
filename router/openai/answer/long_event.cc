#include "router/openai/answer/long_event.h"

#include "backends/dialect/messages/message_events.h"

namespace penstock {

StreamFacts ReadEvent(Endpoint endpoint, const SseSplitter::Event& event) {
  return endpoint == Endpoint::kMessages ? ReadMessageEvent(event) : ReadStreamEvent(endpoint, event);
}

void LongEvent::Read() {
  facts = ReadEvent(endpoint, event);
  if (facts.error || facts.malformed) return;
  if (StreamsChunks(endpoint)) names = ReadChunkNames(event.data);
  if (reassembly) fits = reassembly->Add(event.data, facts.done);
}

}  // namespace penstock
