// The meaning of one event of a stream in Anthropic's dialect. Pure and thread-safe.
//
// A stream is message_start, the blocks of the content with their deltas, message_delta with the reason of the end and
// the usage, and message_stop. Ping and error events may come in between.
#ifndef PENSTOCK_BACKENDS_DIALECT_MESSAGES_MESSAGE_EVENTS_H_
#define PENSTOCK_BACKENDS_DIALECT_MESSAGES_MESSAGE_EVENTS_H_

#include <string>

#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/stream_reader.h"
#include "backends/dialect/usage.h"

namespace penstock {

// Finish reasons come in OpenAI's words. The last event is `done` as [DONE] is. A ping is `nothing`. Scans the event
// once and builds no document.
StreamFacts ReadMessageEvent(const SseSplitter::Event& event);

// The usage of a whole message as JSON, and that of an event which repeats no prompt.
std::string MessageUsage(const Usage& usage);
std::string OutputUsage(Tokens output);

// The event that ends a stream, for an engine that left it out.
inline constexpr absl::string_view kMessageStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_MESSAGES_MESSAGE_EVENTS_H_
