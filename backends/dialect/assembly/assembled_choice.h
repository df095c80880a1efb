// One choice of an answer, put together from the events of its stream. Pure.
//
// Texts and values stay JSON: the insides of string literals are strung together, and a value is stored as its bytes.
// So no text is unescaped and escaped again, and an event costs its own length, whatever came before. Fields that no
// rule knows merge as clients of OpenAI merge them. Content that is a list of texts is a text; with other parts, it
// stays a list. Invariant: every list is bounded. One owner, not thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_ASSEMBLED_CHOICE_H_
#define PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_ASSEMBLED_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/assembly/merged_value.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage.h"
#include "base/json_pieces.h"

namespace penstock {

// Members of a JSON object by key, in the order of their first mention. Keys and values are JSON.
class JsonMembers {
 public:
  static constexpr size_t kMost = 64;

  // Null: the object has kMost other members.
  std::string* Find(absl::string_view key);
  bool Has(absl::string_view key) const;
  // Takes the member out; empty: it is not there.
  std::string Take(absl::string_view key);
  struct Member {
    std::string key, value;
  };
  std::vector<Member>& list() { return members_; }
  const std::vector<Member>& list() const { return members_; }

 private:
  std::vector<Member> members_;
};

class AssembledChoice {
 public:
  // Takes one element of `choices`. Unimplemented: a whole answer cannot represent it. InvalidArgument: not JSON.
  absl::Status Add(absl::string_view piece, Endpoint endpoint);
  // Members of the choice's object behind its index, and the object's end.
  void Write(Endpoint endpoint, JsonPieces* answer);

  bool finished() const { return !finish_reason_.empty(); }
  // Bytes that the last Add added to the memory.
  size_t added() const { return added_; }
  Usage usage;  // The usage of the event with the finish reason.

 private:
  struct ToolCall {
    MergedValue members;
    JsonMembers function;  // The insides of its texts.
    bool has_function = false;
  };
  absl::Status AddMember(JsonScanner& scanner, absl::string_view key, Endpoint endpoint);
  absl::Status AddDelta(JsonScanner& scanner);
  absl::Status AddDeltaMember(JsonScanner& scanner, absl::string_view key);
  absl::Status AddContent(JsonScanner& scanner);
  // The text so far becomes a part of the list.
  void EndPart();
  absl::Status AddToolCalls(JsonScanner& scanner);
  absl::Status AddToolCall(absl::string_view piece, int64_t index);
  absl::Status AddFunction(JsonScanner& scanner, JsonMembers* function);
  absl::Status AddLogprobs(JsonScanner& scanner);
  absl::Status AppendText(JsonScanner& scanner, std::string* text);
  absl::Status KeepValue(JsonScanner& scanner, std::string* value);
  void WriteMessage(JsonPieces* answer);
  bool HasNoContent() const;
  void WriteContent(JsonPieces* answer);
  void WriteToolCalls(JsonPieces* answer);
  std::string End() const;

  std::string role_ = "assistant";
  std::string content_;
  std::string parts_;  // Elements of the content; empty: it is a text.
  bool has_content_ = false;
  MergedValue delta_;  // Other members of the deltas.
  MergedValue more_;   // Other members of the choice.
  std::map<int64_t, ToolCall> calls_;
  JsonMembers logprobs_;        // Arrays without their brackets, and the first values of other members.
  bool has_logprobs_ = false;   // Some event had an object there.
  bool says_logprobs_ = false;  // Some event had the field, if only as null.
  std::string finish_reason_, stop_reason_;
  size_t added_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_ASSEMBLED_CHOICE_H_
