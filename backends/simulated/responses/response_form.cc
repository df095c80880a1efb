#include "backends/simulated/responses/response_form.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

std::string TextIn(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool FlagIn(const json& object, const char* field, bool otherwise) {
  const auto found = object.find(field);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

// A part with a text becomes a text; any other stays, and the reader of chats names the fault.
json PartOf(const json& part) {
  if (!part.is_object() || !part.contains("text")) return part;
  return {{"type", "text"}, {"text", part["text"]}};
}

json ContentOf(const json& content) {
  if (!content.is_array()) return content;
  json parts = json::array();
  for (const json& part : content) parts.push_back(PartOf(part));
  return parts;
}

// The chat's form of a tool or of a choice of one: its members lie in "function".
json FunctionOf(const json& flat) {
  if (!flat.is_object() || flat.value("type", json()) != "function") return flat;
  json function = flat;
  function.erase("type");
  return {{"type", "function"}, {"function", std::move(function)}};
}

json ToolsOf(const json& tools) {
  if (!tools.is_array()) return tools;
  json list = json::array();
  for (const json& tool : tools) list.push_back(FunctionOf(tool));
  return list;
}

// The chat's form of `text.format`.
json FormatOf(const json& format) {
  if (!format.is_object() || format.value("type", json()) != "json_schema") return format;
  json named = format;
  named.erase("type");
  return {{"type", "json_schema"}, {"json_schema", std::move(named)}};
}

// The call of a tool, or its result, as a chat has them.
json ToolTurn(const json& item) {
  if (item["type"] == "function_call_output") {
    const json output = item.value("output", json(""));
    return {{"role", "tool"},
            {"tool_call_id", item.value("call_id", json())},
            {"content", output.is_string() ? output : json(DumpJson(output))}};
  }
  const json function = {{"name", item.value("name", json())}, {"arguments", item.value("arguments", json())}};
  return {{"role", "assistant"},
          {"content", nullptr},
          {"tool_calls",
           json::array({{{"id", item.value("call_id", json())}, {"type", "function"}, {"function", function}}})}};
}

bool IsToolTurn(const json& item) {
  if (!item.is_object()) return false;
  const json type = item.value("type", json());
  return type == "function_call" || type == "function_call_output";
}

}  // namespace

std::string DumpJson(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

ResponseOrder ReadOrder(const json& body) {
  ResponseOrder order;
  order.id = TextIn(body, "request_id");
  order.previous = TextIn(body, "previous_response_id");
  order.store = FlagIn(body, "store", true);
  order.background = FlagIn(body, "background", false);
  order.stream = FlagIn(body, "stream", false);
  const json input = body.value("input", json());
  if (input.is_string()) order.items.push_back({{"type", "message"}, {"role", "user"}, {"content", input}});
  if (input.is_array()) order.items = input;
  for (const char* field :
       {"instructions", "metadata", "max_output_tokens", "temperature", "top_p", "tools", "tool_choice", "text"}) {
    if (body.contains(field)) order.shown[field] = body[field];
  }
  return order;
}

json MessagesOf(const json& items) {
  json messages = json::array();
  for (const json& item : items) {
    if (IsToolTurn(item)) {
      messages.push_back(ToolTurn(item));
      continue;
    }
    const bool message = item.is_object() && item.contains("role");
    const json role = message ? item["role"] : json("user");
    const json content = message ? ContentOf(item.value("content", json(""))) : json(DumpJson(item));
    messages.push_back({{"role", role == "developer" ? json("system") : role}, {"content", content}});
  }
  return messages;
}

std::string ChatOf(const json& body, const ResponseOrder& order, const json& earlier) {
  json chat;
  for (const char* field : {"model", "temperature", "top_p", "cache_salt"}) {
    if (body.contains(field)) chat[field] = body[field];
  }
  if (body.contains("tools")) chat["tools"] = ToolsOf(body["tools"]);
  if (body.contains("tool_choice")) chat["tool_choice"] = FunctionOf(body["tool_choice"]);
  const json text = body.value("text", json());
  if (text.is_object() && text.contains("format")) chat["response_format"] = FormatOf(text["format"]);
  if (body.contains("max_output_tokens")) chat["max_tokens"] = body["max_output_tokens"];
  if (!body.contains("input")) return DumpJson(chat);
  chat["messages"] = json::array();
  if (body.contains("instructions") && !body["instructions"].is_null()) {
    chat["messages"].push_back({{"role", "system"}, {"content", body["instructions"]}});
  }
  for (const json& message : earlier) chat["messages"].push_back(message);
  for (json& message : MessagesOf(order.items)) chat["messages"].push_back(std::move(message));
  // A last message of the assistant is history here, not the head of the answer.
  return DumpJson(chat);
}

json InputItems(const std::string& id, const json& items) {
  json data = json::array();
  for (const json& item : items) {
    json listed = item;
    if (listed.is_object()) {
      if (!listed.contains("type")) listed["type"] = "message";
      if (listed.contains("content") && listed["content"].is_string()) {
        listed["content"] = json::array({{{"type", "input_text"}, {"text", listed["content"]}}});
      }
      listed["id"] = "msg_" + id + "_" + std::to_string(data.size());
    }
    data.push_back(std::move(listed));
  }
  const json first = data.empty() ? json() : data.front().value("id", json());
  const json last = data.empty() ? json() : data.back().value("id", json());
  return {{"object", "list"}, {"data", data}, {"first_id", first}, {"last_id", last}, {"has_more", false}};
}

}  // namespace penstock::simulated
