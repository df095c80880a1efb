// Makes the chunks of a continued answer look like those of the answer it continues. Pure.
//
// Used only where a stream was cut after its client had part of it and goes on from there elsewhere.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_CHUNK_REWRITE_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_CHUNK_REWRITE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/usage.h"

namespace penstock {

// The fields that are alike in all chunks of one answer: JSON values on one line, empty when the engine sends none.
struct ChunkNames {
  std::string id;
  std::string created;
  std::string model;
  std::string fingerprint;
};
ChunkNames ReadChunkNames(absl::string_view data);

struct ChunkEdit {
  Usage usage;                // Takes the place of the chunk's own.
  absl::string_view content;  // A view into the data, and what is to stand there instead.
  std::optional<absl::string_view> new_content;
};
// Adds a part of an event's data to the one line of another event. The engine may have written several lines. Their
// ends are space between tokens of JSON, so they become spaces.
void AppendOnOneLine(absl::string_view data, std::string& line);
// The event with the first answer's names.
std::string RewriteChunk(absl::string_view data, const ChunkNames& names, const ChunkEdit& edit);

// The events that end an answer whose engine died behind its last token. A chunk with `finish_reason` (left out when
// empty), a chunk with the usage where the client asked for it, and [DONE].
std::string ClosingEvents(Endpoint endpoint, const ChunkNames& names, absl::string_view finish_reason,
                          const std::optional<Usage>& usage);

// The white space that ends the inside of a JSON string. Chat templates trim it off a message's end.
absl::string_view TrailingSpace(absl::string_view inside);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_CHUNK_REWRITE_H_
