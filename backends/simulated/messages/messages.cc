#include "backends/simulated/messages/messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/simulated/messages/json_text.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// The text of a content: of a block, of blocks, or itself. Blocks without a text count as their JSON.
std::string TextOfContent(const json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const json& block : content) {
    if (!block.is_object()) continue;
    const std::string type = block.value("type", json()).is_string() ? block["type"].get<std::string>() : "";
    if (block.contains("text") && block["text"].is_string()) {
      text += block["text"].get<std::string>();
    } else if (type == "tool_result") {
      text += TextOfContent(block.value("content", json()));
    } else if (type != "image" && type != "document") {
      text += Dump(block);
    }
  }
  return text;
}

json ContentOf(const json& content) {
  if (!content.is_array()) return content;
  json parts = json::array({{{"type", "text"}, {"text", TextOfContent(content)}}});
  for (const json& block : content) {
    if (!block.is_object()) return content;
    const json type = block.value("type", json());
    if (type == "image" || type == "document") parts.push_back({{"type", "image_url"}});
  }
  return parts;
}

// A turn with results of tools is a turn of the tool, as in a chat.
bool HasToolResults(const json& content) {
  return content.is_array() && std::any_of(content.begin(), content.end(), [](const json& block) {
           return block.is_object() && block.value("type", json()) == "tool_result";
         });
}

// {"type": "any"} and {"type": "tool", "name"} ask for a call.
void TakeToolChoice(const json& body, json& chat) {
  const json choice = body.value("tool_choice", json());
  if (!choice.is_object()) return;
  const json type = choice.value("type", json());
  if (type == "any") chat["tool_choice"] = "required";
  if (type == "none") chat["tool_choice"] = "none";
  if (type == "tool") chat["tool_choice"] = {{"function", {{"name", choice.value("name", json())}}}};
}

json UsageOf(const MessageCounts& counts) {
  return {{"input_tokens", counts.prompt - counts.cached},
          {"cache_read_input_tokens", counts.cached},
          {"output_tokens", counts.output}};
}

std::string_view StopReason(const MessageEnd& end) {
  if (end.reason == "length") return "max_tokens";
  if (end.reason == "tool_calls") return "tool_use";
  return end.stop.empty() ? "end_turn" : "stop_sequence";
}

json StopSequence(const MessageEnd& end) { return end.stop.empty() ? json() : json(end.stop); }

void Event(std::string_view name, const json& data, std::string& out) {
  out.append("event: ").append(name).append("\ndata: ").append(Dump(data)).append("\n\n");
}

}  // namespace

std::string ChatOfMessages(std::string_view text) {
  const json body = json::parse(text.begin(), text.end(), nullptr, false);
  if (!body.is_object()) return std::string(text);
  json chat;
  for (const char* field : {"model", "max_tokens", "stream", "temperature", "top_p", "cache_salt"}) {
    if (body.contains(field)) chat[field] = body[field];
  }
  if (body.contains("stop_sequences")) chat["stop"] = body["stop_sequences"];
  if (body.contains("tools") && body["tools"].is_array()) {
    chat["tools"] = json::array();
    for (const json& tool : body["tools"]) chat["tools"].push_back({{"type", "function"}, {"function", tool}});
  }
  TakeToolChoice(body, chat);
  if (!body.contains("messages")) return Dump(chat);
  if (!body["messages"].is_array()) {
    chat["messages"] = body["messages"];
    return Dump(chat);
  }
  chat["messages"] = json::array();
  if (body.contains("system")) {
    chat["messages"].push_back({{"role", "system"}, {"content", TextOfContent(body["system"])}});
  }
  for (const json& message : body["messages"]) {
    json turn = message;
    if (turn.is_object() && turn.contains("content")) {
      if (HasToolResults(turn["content"])) turn["role"] = "tool";
      turn["content"] = ContentOf(turn["content"]);
    }
    chat["messages"].push_back(std::move(turn));
  }
  return Dump(chat);
}

void MessageEvents::Start(const MessageCounts& counts, std::string& out) const {
  const json message = {
      {"id", id_},       {"type", "message"},      {"role", "assistant"},      {"content", json::array()},
      {"model", model_}, {"stop_reason", nullptr}, {"stop_sequence", nullptr}, {"usage", UsageOf(counts)}};
  Event("message_start", {{"type", "message_start"}, {"message", message}}, out);
  json block = {{"type", "text"}, {"text", ""}};
  if (!tool_.empty())
    block = {{"type", "tool_use"}, {"id", "toolu_" + id_}, {"name", tool_}, {"input", json::object()}};
  Event("content_block_start", {{"type", "content_block_start"}, {"index", 0}, {"content_block", block}}, out);
}

void MessageEvents::Text(std::string_view text, std::string& out) const {
  out += "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"";
  out += "text_delta\",\"text\":\"";
  AppendEscaped(text, out);
  out += "\"}}\n\n";
}

void MessageEvents::ToolText(std::string_view text, std::string& out) const {
  out += "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"";
  out += "input_json_delta\",\"partial_json\":\"";
  AppendEscaped(text, out);
  out += "\"}}\n\n";
}

void MessageEvents::Finish(const MessageEnd& end, const MessageCounts& counts, std::string& out) const {
  Event("content_block_stop", {{"type", "content_block_stop"}, {"index", 0}}, out);
  Event("message_delta",
        {{"type", "message_delta"},
         {"delta", {{"stop_reason", StopReason(end)}, {"stop_sequence", StopSequence(end)}}},
         {"usage", {{"output_tokens", counts.output}}}},
        out);
}

void MessageEvents::Stop(std::string& out) { Event("message_stop", {{"type", "message_stop"}}, out); }

std::string WholeMessage(const WholeMessageParts& parts, const MessageCounts& counts) {
  json block = {{"type", "text"}, {"text", parts.text}};
  if (!parts.tool.empty()) {
    // Arguments that a limit cut are no JSON.
    const json input = json::parse(parts.text, nullptr, false);
    block = {{"type", "tool_use"},
             {"id", "toolu_" + std::string(parts.id)},
             {"name", parts.tool},
             {"input", input.is_object() ? input : json::object()}};
  }
  return Dump({{"id", parts.id},
               {"type", "message"},
               {"role", "assistant"},
               {"content", json::array({block})},
               {"model", parts.model},
               {"stop_reason", StopReason(parts.end)},
               {"stop_sequence", StopSequence(parts.end)},
               {"usage", UsageOf(counts)}});
}

std::string MessageError(int status, std::string_view message) {
  const char* type = status == 404 ? "not_found_error" : status >= 500 ? "api_error" : "invalid_request_error";
  return Dump({{"type", "error"}, {"error", {{"type", type}, {"message", message}}}});
}

}  // namespace penstock::simulated
