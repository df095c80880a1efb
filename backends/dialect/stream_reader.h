// The meaning of one event of a stream. Pure and thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_STREAM_READER_H_
#define PENSTOCK_BACKENDS_DIALECT_STREAM_READER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/engine_error.h"
#include "backends/dialect/sse_splitter.h"
#include "backends/dialect/usage.h"

namespace penstock {

// The place of an event in a message of Anthropic's dialect.
enum class MessagePart : uint8_t { kNone, kStart, kBlockStart, kBlockDelta, kBlockStop, kEnd };

// Views point into the data of the event.
struct StreamFacts {
  bool nothing = false;  // data: null, which llama-server sends before the answers to a list of prompts.
  // Anthropic's dialect: the message or a block begins, and has no text yet. Chunks: `choices` is empty, without usage.
  bool opening = false;
  bool done = false;          // data: [DONE], or a terminal event of the responses dialect.
  bool has_text = false;      // Content, reasoning or tool-call text of at least one character.
  absl::string_view content;  // Inside of the JSON string of the first choice that has content.
  bool other_text = false;    // Reasoning, tool calls, or all a client sees beside role and one content of choice 0.
  MessagePart part = MessagePart::kNone;
  int64_t block = 0;  // The index of the block, where the part has one.
  bool has_role = false;
  int64_t choice = 0;         // The index of the last choice; zero where it has none.
  bool finish = false;        // A non-null finish_reason.
  std::string finish_reason;  // Responses dialect: stop, length or content_filter, from its status.
  bool usage_only = false;    // `choices` is empty and `usage` is there: the extra chunk of include_usage.
  std::optional<Usage> usage;
  std::optional<EngineError> error;
  bool malformed = false;  // Neither a JSON object in UTF-8 nor [DONE]. The other fields are then at their defaults.
  // Inside of the only text string, with its escapes unresolved. Null when the event has several text strings.
  absl::string_view only_text;
};

// Scans the event once and builds no document. Passes over members of unexpected types. A usual event costs about
// 200 ns.
StreamFacts ReadStreamEvent(Endpoint endpoint, const SseSplitter::Event& event);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_STREAM_READER_H_
