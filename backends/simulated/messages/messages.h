// Anthropic's dialect of a simulated engine: requests as chats, as real engines read them, and the bytes of answers.
// Pure.
#ifndef PENSTOCK_BACKENDS_SIMULATED_MESSAGES_MESSAGES_H_
#define PENSTOCK_BACKENDS_SIMULATED_MESSAGES_MESSAGES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::simulated {

// The body as that of a chat. A body that is no JSON object stays as it is: the reader of chats names the fault.
std::string ChatOfMessages(std::string_view body);

struct MessageCounts {
  int64_t prompt = 0;  // With the cached part.
  int64_t output = 0;
  int64_t cached = 0;
};

// The end of a message, in OpenAI's words: stop, length or tool_calls; and the stop string, or empty.
struct MessageEnd {
  std::string_view reason;
  std::string_view stop;
};

// The events of one streamed message, with one block of text or of a tool call.
class MessageEvents {
 public:
  // `tool`: the name of the tool that is called; empty: none.
  MessageEvents(std::string id, std::string model, std::string tool)
      : id_(std::move(id)), model_(std::move(model)), tool_(std::move(tool)) {}

  void Start(const MessageCounts& counts, std::string& out) const;
  void Text(std::string_view text, std::string& out) const;
  // One token of the tool's input.
  void ToolText(std::string_view text, std::string& out) const;
  void Finish(const MessageEnd& end, const MessageCounts& counts, std::string& out) const;
  static void Stop(std::string& out);

 private:
  std::string id_, model_, tool_;
};

struct WholeMessageParts {
  std::string_view id, model, tool, text;
  MessageEnd end;
};
std::string WholeMessage(const WholeMessageParts& parts, const MessageCounts& counts);
std::string MessageError(int status, std::string_view message);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MESSAGES_MESSAGES_H_
