// A whole answer from the events of its stream.
#ifndef PENSTOCK_BACKENDS_DIALECT_STREAM_ASSEMBLER_H_
#define PENSTOCK_BACKENDS_DIALECT_STREAM_ASSEMBLER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "base/json_pieces.h"

namespace penstock {

// For engines that cannot cancel a request without a stream. Handles several choices, tool calls, reasoning text and
// log probabilities. Keeps the last value of unknown top-level fields, such as timings. Adds the usage of choices that
// each report their own. Only kChat and kCompletions. One owner, not thread-safe.
class StreamAssembler {
 public:
  explicit StreamAssembler(Endpoint endpoint);
  ~StreamAssembler();
  // Takes the data of one event and skips [DONE]. InvalidArgument: not JSON. Internal: an error event, with its
  // message. Unimplemented: an event that a whole answer cannot represent.
  absl::Status Add(absl::string_view data);
  // Bytes that it stores, roughly: all text, and the events that add anything else.
  size_t bytes() const { return bytes_; }
  // The answer; once. FailedPrecondition when a choice has no finish reason.
  absl::StatusOr<JsonPieces> Finish();

 private:
  struct Document;
  std::unique_ptr<Document> document_;
  Endpoint endpoint_;
  size_t bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_STREAM_ASSEMBLER_H_
