// Answers of OpenAI's dialect as lines of Ollama's own. Pure: times are arguments.
//
// Each event of a stream becomes a line or none. The pieces of a tool call wait for its end, because Ollama's dialect
// gives the arguments as an object. Of a call that the output limit cut, it has the members that are whole. The text of
// a refusal is content, and so is a list of texts. What the dialect cannot say makes the answer unfit. Choices
// behind the first are passed over. The last line
// has the counts and the durations. One owner; the output string is the caller's, so a line allocates little.
#ifndef PENSTOCK_ROUTER_OLLAMA_ANSWER_WRITER_H_
#define PENSTOCK_ROUTER_OLLAMA_ANSWER_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/ollama/request_builder.h"

namespace penstock::ollama {

class AnswerWriter {
 public:
  // Calls of tools hold so many bytes at most, in a stream as in a whole answer: they are checked in one step.
  static constexpr size_t kMostToolText = 1 << 20;

  // `model` as the client named it.
  AnswerWriter(Call call, absl::string_view model, Instant arrival);

  // The data of one event. `when` is the present as text (RFC 3339).
  void Event(absl::string_view data, absl::string_view when, Instant now, std::string& out);
  // The last line.
  void End(absl::string_view when, Instant now, std::string& out);
  // A whole answer as one object.
  std::string Whole(absl::string_view body, absl::string_view when, Instant now);
  // Bytes of the calls of tools that wait for the end.
  size_t gathered() const { return gathered_; }
  // They were more than kMostToolText, or DropCalls() was called: the answer has none.
  bool too_long() const { return too_long_; }
  void DropCalls();
  // Something of the answer cannot be said in this dialect, and would be lost.
  bool unfit() const { return unfit_; }
  // The answer to a request that asks for nothing but the model.
  std::string Loaded(absl::string_view when) const;

 private:
  struct ToolCall {
    int64_t index = 0;  // As the engine counts: any number.
    std::string id;     // That of its first piece.
    std::string name;
    std::string arguments;
  };
  // The texts of one event, with their escapes.
  struct Texts {
    std::string content;
    std::string thinking;
  };

  bool Read(absl::string_view json, Texts& texts);
  template <class Scanner>
  bool ReadChoice(Scanner& scanner, Texts& texts);
  template <class Scanner>
  bool ReadMessage(Scanner& scanner, Texts& texts);
  template <class Scanner>
  bool ReadToolCalls(Scanner& scanner);
  // The call that a piece with this index and id belongs to; `named`: the piece has a name. Null: there are too many.
  ToolCall* CallAt(int64_t index, const std::string& id, bool named);
  template <class Scanner>
  bool ReadUsage(Scanner& scanner);
  // Reads a count of an engine, which may be impossible.
  template <class Scanner>
  static bool ReadCount(Scanner& scanner, int64_t* count);
  // A line up to `done`, which the caller ends.
  void Begin(const Texts& texts, bool with_tools, absl::string_view when, std::string& out) const;
  std::string ToolCallsJson() const;
  void AddEnd(Instant now, std::string& out) const;

  const Call call_;
  const std::string model_;  // As JSON.
  const Instant arrival_;
  std::optional<Instant> first_;  // The first text came.
  std::vector<ToolCall> tools_;
  size_t gathered_ = 0;
  bool too_long_ = false;
  bool unfit_ = false;
  std::string finish_ = "stop";
  int64_t prompt_ = 0;
  int64_t output_ = -1;  // As the engine reports it; negative: it reports none.
  int64_t pieces_ = 0;   // Events with text: the output of an engine that reports none.
};

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_ANSWER_WRITER_H_
