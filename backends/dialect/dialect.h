// The OpenAI dialect as engines really speak it: pure parsing of answers, events and errors. No I/O.
//
// All functions are thread-safe. What is not JSON or not UTF-8 is reported as malformed, members of unexpected types
// are passed over, and nothing throws.
#ifndef PENSTOCK_BACKENDS_DIALECT_DIALECT_H_
#define PENSTOCK_BACKENDS_DIALECT_DIALECT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

enum class Endpoint { kChat, kCompletions, kEmbeddings, kResponses, kRerank };

struct Usage {
  Tokens prompt{0};
  Tokens output{0};
  bool operator==(const Usage&) const = default;
};

// An engine's error in any of the shapes seen ({"error":{..}}, flat, {"error":"..","error_type":".."}, plain text).
// Also {"detail":..} of Python frameworks, and the error events of the responses and messages dialects.
struct EngineError {
  // From the body where it tells one between 400 and 599, else the HTTP status; an error inside a successful answer
  // that tells none is 500 (TGI's "overloaded" is 429, its "validation" 422).
  int status = 0;
  std::string message;  // Plain text and unknown shapes: at most the first 2000 bytes of the body.
  std::string type;
  std::string code;  // Only codes that are words; numbers went into `status`.
  std::string param;
};
EngineError ParseEngineError(int http_status, absl::string_view body);

// Splits a byte stream into SSE events. Feed() appends; Next() gives complete events one by one, as views into the
// buffer valid until the next Feed(). Accepts \n, \r\n, `data:` with or without a space, comments, `event:` lines. The
// raw views of all events, in order and followed by Rest(), are the bytes that were fed: nothing is dropped or added.
// Scans every byte once, however small the pieces are. A single stray blank line comes as an event with comment set.
class SseSplitter {
 public:
  struct Event {
    absl::string_view raw;   // All bytes, terminator included.
    absl::string_view data;  // Of the data line; several data lines are joined by \n, then valid until the next Next().
    absl::string_view name;  // Of the event line.
    bool comment = false;    // Nothing but comment lines.
    bool garbled = false;    // A line is none that the format knows, so data may be missing.
  };
  void Feed(absl::string_view bytes);
  std::optional<Event> Next();
  // Bytes of an event that has not ended; its growth is bounded by the caller.
  absl::string_view Rest() const;

 private:
  std::string buffer_;
  std::string joined_;
  size_t position_ = 0;  // Start of the first event not given out.
  size_t scanned_ = 0;   // Start of the first line not looked at.
};

// What one event says, found by a scan that does not build a document. Costs some 200 ns for a usual event.
struct StreamFacts {
  bool done = false;          // data: [DONE], or a terminal event of the responses dialect.
  bool has_text = false;      // Content, reasoning or tool-call text of at least one character.
  absl::string_view content;  // Of the first choice that has any: the JSON string's inside, a view into the data.
  bool other_text = false;    // Reasoning, tool calls, anything that a client sees beside content and role.
  bool has_role = false;
  bool finish = false;        // A non-null finish_reason.
  std::string finish_reason;  // Responses dialect: stop, length or content_filter, from its status.
  bool usage_only = false;    // choices is empty and usage is there: the extra chunk of include_usage.
  std::optional<Usage> usage;
  std::optional<EngineError> error;
  bool malformed = false;  // Not JSON and not [DONE].
  // The inside of the only string that is text, escapes unresolved, within the event's data; null if there are several.
  absl::string_view only_text;
};
StreamFacts ReadStreamEvent(Endpoint endpoint, const SseSplitter::Event& event);

// Knows the next text event of a stream by the one before: engines repeat all but the text. An event that equals the
// learned one byte for byte, but for plain characters inside the text, says the same. Costs a comparison, where
// ReadStreamEvent is a parse. Only kChat and kCompletions.
class TextPattern {
 public:
  explicit TextPattern(Endpoint endpoint)
      : active_(endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions) {}
  // `facts` are those of this event.
  void Learn(const SseSplitter::Event& event, const StreamFacts& facts);
  // What ReadStreamEvent would say of the event, but for only_text; nullopt when only it can tell.
  std::optional<StreamFacts> Match(const SseSplitter::Event& event) const;

 private:
  bool active_;
  std::string before_;  // Empty: nothing learned.
  std::string after_;
  bool is_content_ = false;
  bool other_text_ = false;
  bool has_role_ = false;
};

// What a whole, non-streamed answer says.
struct AnswerFacts {
  std::optional<Usage> usage;
  std::string finish_reason;  // Of the first choice; "length" if any choice says so.
  bool malformed = false;
};
AnswerFacts ReadAnswer(Endpoint endpoint, absl::string_view body);

// Rebuilds the non-streamed answer of a chat or text completion from its stream (for engines whose non-streamed
// requests cannot be cancelled). Handles one or several choices, tool calls, reasoning text and log probabilities.
// Top-level fields that it does not know (timings) are kept as last seen. Usage of several choices that each tell their
// own is summed. Only kChat and kCompletions.
class StreamAssembler {
 public:
  explicit StreamAssembler(Endpoint endpoint);
  ~StreamAssembler();
  // The data of one event; [DONE] is skipped. InvalidArgument: not JSON. Internal: an error event, with its message.
  // Unimplemented: an event it cannot represent.
  absl::Status Add(absl::string_view data);
  // The JSON of the answer. FailedPrecondition when no finish was seen.
  absl::StatusOr<std::string> Finish();

 private:
  struct Document;
  std::unique_ptr<Document> document_;
  Endpoint endpoint_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_DIALECT_H_
