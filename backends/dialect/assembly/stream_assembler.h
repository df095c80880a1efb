// A whole answer from the events of its stream.
#ifndef PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_STREAM_ASSEMBLER_H_
#define PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_STREAM_ASSEMBLER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/assembly/assembled_choice.h"
#include "backends/dialect/endpoint.h"
#include "base/json_pieces.h"

namespace penstock {

// For engines that cannot cancel a request without a stream. Handles several choices, tool calls, reasoning text and
// log probabilities. Keeps the last value of unknown top-level fields, such as timings. Adds the usage of choices that
// each report their own. Of an event without `choices` only its usage counts: pings and the events of vendors are no
// part of an answer. Only kChat and kCompletions. One owner, not thread-safe. An event costs O(its length).
class StreamAssembler {
 public:
  static constexpr size_t kMostChoices = 4096;

  explicit StreamAssembler(Endpoint endpoint) : endpoint_(endpoint) {}
  // Takes the data of one event, which is UTF-8, and skips [DONE]. InvalidArgument: not JSON. Internal: an error event,
  // with its message. Unimplemented: an event that a whole answer cannot represent. After an error no more may be
  // added.
  absl::Status Add(absl::string_view data);
  // Bytes that it stores, roughly.
  size_t bytes() const { return bytes_; }
  // The answer; once. FailedPrecondition when a choice has no finish reason.
  absl::StatusOr<JsonPieces> Finish();

 private:
  absl::Status AddMember(JsonScanner& scanner, absl::string_view key);
  absl::Status AddChoices(JsonScanner& scanner);
  absl::Status AddChoice(absl::string_view piece, int64_t index);
  absl::Status KeepTop();
  void TakeUsage(Usage usage);
  // The usage of the answer; empty when no event had one.
  std::string UsageJson() const;

  // The facts of one event.
  struct Said {
    bool choices = false;
    bool error = false;
    std::optional<Usage> usage;
    std::vector<AssembledChoice*> finished;
    size_t pieces = 0;  // Elements of its `choices`.
    // Its other fields, views of its data, at most one more than an answer may have.
    std::vector<std::pair<absl::string_view, absl::string_view>> top;
  };

  const Endpoint endpoint_;
  std::map<int64_t, AssembledChoice> choices_;
  JsonMembers top_;    // The last value of every other field.
  std::string usage_;  // The last usage object, with its details.
  Usage sum_;          // Usage of events without choices. Some engines send one per choice.
  int alone_ = 0;      // The number of these events.
  Said said_;          // The memory of one Add.
  size_t bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_STREAM_ASSEMBLER_H_
