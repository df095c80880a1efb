// Makes the chunks of a continued answer look like those of the answer it continues. Pure.
//
// Used only where a stream had to be cut after text was delivered and goes on from that text elsewhere.
#ifndef PENSTOCK_ROUTER_HTTP_CHUNK_REWRITE_H_
#define PENSTOCK_ROUTER_HTTP_CHUNK_REWRITE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "backends/openai/dialect.h"

namespace penstock {

// What a chunk of a chat or text completion carries, as far as a continuation needs it.
struct ChunkParts {
  std::string text;            // Content of its first choice.
  bool opens = false;          // Only names the role.
  bool uncontinuable = false;  // Carries reasoning or tool calls, which a longer prompt cannot repeat.
  absl::string_view id;        // Raw JSON values, views into the data; empty when absent.
  absl::string_view created;
};
ChunkParts ReadChunk(Endpoint endpoint, absl::string_view data);

// The event with the first answer's id and created, and, if it carries usage, with `usage` in its place.
std::string RewriteChunk(absl::string_view data, absl::string_view id, absl::string_view created, const Usage& usage);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_CHUNK_REWRITE_H_
