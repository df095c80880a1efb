#include "backends/simulated/face/prompts.h"

#include <utility>

#include "backends/simulated/machine/mix.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr TokenId kBegin = Mark(0);
constexpr TokenId kMessage = Mark(1);
constexpr TokenId kContent = Mark(2);
constexpr TokenId kEnd = Mark(3);
constexpr TokenId kImage = Mark(4);
constexpr int kImageTokens = 256;

struct Message {
  std::string role;
  std::string content;
  int images = 0;
};

bool ReadContent(const json& content, Message& message) {
  if (content.is_null()) return true;
  if (content.is_string()) {
    message.content += content.get_ref<const std::string&>();
    return true;
  }
  if (!content.is_array()) return false;
  for (const json& part : content) {
    if (!part.is_object()) return false;
    const auto text = part.find("text");
    if (text == part.end()) {
      ++message.images;
    } else if (text->is_string()) {
      message.content += text->get_ref<const std::string&>();
    } else {
      return false;
    }
  }
  return true;
}

std::vector<Message> ReadMessages(BodyReader& body) {
  std::vector<Message> messages;
  const json* list = body.Find("messages");
  if (list == nullptr) {
    body.FailField("messages", "messages: Field required", "Bad Request");
    return messages;
  }
  if (!list->is_array() || list->empty()) {
    body.FailField("messages", "messages: Input should be a list with at least one message", "Bad Request");
    return messages;
  }
  for (const json& item : *list) {
    Message message;
    const auto role = item.is_object() ? item.find("role") : item.end();
    const bool named = item.is_object() && role != item.end() && role->is_string();
    if (!named || !ReadContent(item.contains("content") ? item["content"] : json(), message)) {
      body.FailField(
          "messages",
          "messages." + std::to_string(messages.size()) + ": Input should have a role and a content of text or parts",
          "Bad Request");
      return {};
    }
    message.role = role->get<std::string>();
    if (item.contains("tool_calls"))
      message.content += item["tool_calls"].dump(-1, ' ', false, json::error_handler_t::replace);
    messages.push_back(std::move(message));
  }
  return messages;
}

Conversation ConversationOf(const std::vector<Message>& messages, size_t count) {
  ByteHash hash;
  for (size_t i = 0; i < count; ++i) {
    hash.Add(messages[i].role);
    hash.Add('\x1f');
    hash.Add(messages[i].content);
    hash.Add('\x1e');
  }
  return hash.Value();
}

// Writes the tokens of the template to a sink of marks and text.
template <class Sink>
void WriteChat(const BodyReader& body, const std::vector<Message>& messages, Sink& sink) {
  sink.Add(kBegin);
  if (const json* tools = body.Find("tools")) {
    sink.AddText(tools->dump(-1, ' ', false, json::error_handler_t::replace));
  }
  for (const Message& message : messages) {
    sink.Add(kMessage);
    sink.AddText(message.role);
    sink.Add(kContent);
    sink.AddText(message.content);
    for (int i = 0; i < message.images * kImageTokens; ++i) sink.Add(kImage);
    if (&message != &messages.back() || message.role != "assistant") sink.Add(kEnd);
  }
  if (messages.empty() || messages.back().role == "assistant") return;
  sink.Add(kMessage);
  sink.AddText("assistant");
  sink.Add(kContent);
}

struct IdSink {
  std::vector<TokenId> ids;
  void Add(TokenId id) { ids.push_back(id); }
  void AddText(std::string_view text) { Tokenize(text, ids); }
};

bool AreIds(const json& list) {
  for (const json& item : list) {
    if (!item.is_number_integer() || item.get<int64_t>() < 0) return false;
  }
  return !list.empty();
}

Prompt ReadIds(const json& list, const PromptOptions& options) {
  PromptReader reader(options.block, options.salt);
  std::string text;
  for (const json& item : list) {
    const auto id = item.get<TokenId>();
    reader.Add(id);
    const std::string piece = TextOf(id);
    // The id of another vocabulary has no text, but it still distinguishes the conversation.
    text += piece.empty() ? "#" + std::to_string(id) : piece;
  }
  const PlainPrompt plain = ReadPlainPrompt(options.seed, text);
  return {reader.Count(), reader.TakeBlocks(), plain.conversation, plain.given};
}

}  // namespace

Prompt ReadChat(BodyReader& body, const PromptOptions& options) {
  const std::vector<Message> messages = ReadMessages(body);
  if (body.error()) return {};
  PromptReader reader(options.block, options.salt);
  WriteChat(body, messages, reader);
  Prompt prompt{reader.Count(), reader.TakeBlocks(), 0, {}};
  const bool open = messages.back().role == "assistant" && !options.begins_anew;
  prompt.conversation = ConversationOf(messages, messages.size() - (open ? 1 : 0));
  if (open && !IsBeginning(options.seed, prompt.conversation, messages.back().content, prompt.given)) {
    // The text is not a beginning of this model's answer, so it is part of the question.
    prompt.conversation = ConversationOf(messages, messages.size());
  }
  return prompt;
}

Prompt ReadText(std::string_view text, const PromptOptions& options) {
  PromptReader reader(options.block, options.salt);
  reader.Add(kBegin);
  reader.AddText(text);
  const PlainPrompt plain = ReadPlainPrompt(options.seed, text);
  return {reader.Count(), reader.TakeBlocks(), plain.conversation, plain.given};
}

std::vector<Prompt> ReadPrompts(BodyReader& body, const char* field, const PromptOptions& options) {
  std::vector<Prompt> prompts;
  const json* value = body.Find(field);
  if (value == nullptr) {
    body.FailField(field, std::string(field) + ": Field required", "Bad Request");
    return prompts;
  }
  if (value->is_string()) {
    prompts.push_back(ReadText(value->get_ref<const std::string&>(), options));
  } else if (value->is_array() && AreIds(*value)) {
    prompts.push_back(ReadIds(*value, options));
  } else if (value->is_array() && !value->empty()) {
    for (const json& item : *value) {
      if (item.is_string()) {
        prompts.push_back(ReadText(item.get_ref<const std::string&>(), options));
      } else if (item.is_array() && AreIds(item)) {
        prompts.push_back(ReadIds(item, options));
      } else {
        prompts.clear();
        break;
      }
    }
  }
  if (prompts.empty()) {
    body.FailField(field, std::string(field) + ": Input should be text, token ids or a non-empty list of either",
                   "Bad Request");
  }
  return prompts;
}

std::vector<TokenId> ChatTokens(BodyReader& body) {
  const std::vector<Message> messages = ReadMessages(body);
  if (body.error()) return {};
  IdSink sink;
  WriteChat(body, messages, sink);
  return std::move(sink.ids);
}

}  // namespace penstock::simulated
