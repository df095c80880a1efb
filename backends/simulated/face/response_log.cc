#include "backends/simulated/face/response_log.h"

#include <utility>

namespace penstock::simulated {
namespace {

using nlohmann::json;

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

ResponseLog::ResponseLog(json object) : object_(std::move(object)) {
  Add("response.created", {{"response", object_}});
  object_["status"] = "in_progress";
  Add("response.in_progress", {{"response", object_}});
}

void ResponseLog::Add(const char* type, json members) {
  members["type"] = type;
  members["sequence_number"] = events_.size();
  events_.push_back(std::string("event: ") + type + "\ndata: " + Dump(members) + "\n\n");
}

json ResponseLog::Part() const { return {{"type", "output_text"}, {"text", text_}, {"annotations", json::array()}}; }

json ResponseLog::Message(const char* status) const {
  json content = json::array();
  if (!text_.empty()) content.push_back(Part());
  return {{"id", "msg_" + object_["id"].get<std::string>()},
          {"type", "message"},
          {"role", "assistant"},
          {"status", status},
          {"content", content}};
}

void ResponseLog::BeginText() {
  if (std::exchange(begun_, true)) return;
  const json message = Message("in_progress");
  Add("response.output_item.added", {{"output_index", 0}, {"item", message}});
  Add("response.content_part.added",
      {{"item_id", message["id"]}, {"output_index", 0}, {"content_index", 0}, {"part", Part()}});
}

void ResponseLog::Text(std::string_view text) {
  BeginText();
  text_ += text;
  Add("response.output_text.delta", {{"item_id", "msg_" + object_["id"].get<std::string>()},
                                     {"output_index", 0},
                                     {"content_index", 0},
                                     {"delta", text},
                                     {"logprobs", json::array()}});
}

void ResponseLog::End(const char* type, const char* status) {
  ended_ = true;
  object_["status"] = status;
  Add(type, {{"response", object_}});
}

void ResponseLog::Arguments(std::string_view name, std::string_view text) {
  if (call_.is_null()) {
    const auto id = object_["id"].get<std::string>();
    call_ = {{"id", "fc_" + id}, {"type", "function_call"}, {"status", "in_progress"}, {"call_id", "call_" + id},
             {"name", name},     {"arguments", ""}};
    Add("response.output_item.added", {{"output_index", 0}, {"item", call_}});
  }
  text_ += text;
  Add("response.function_call_arguments.delta", {{"item_id", call_["id"]}, {"output_index", 0}, {"delta", text}});
}

void ResponseLog::EndText() {
  BeginText();
  const json message = Message("completed");
  const json place = {{"item_id", message["id"]}, {"output_index", 0}, {"content_index", 0}};
  json done = place;
  done["text"] = text_;
  done["logprobs"] = json::array();
  Add("response.output_text.done", done);
  json part = place;
  part["part"] = Part();
  Add("response.content_part.done", part);
  Add("response.output_item.done", {{"output_index", 0}, {"item", message}});
  object_["output"] = json::array({message});
}

void ResponseLog::EndCall(const char* status) {
  call_["status"] = status;
  call_["arguments"] = text_;
  Add("response.function_call_arguments.done",
      {{"item_id", call_["id"]}, {"output_index", 0}, {"name", call_["name"]}, {"arguments", text_}});
  Add("response.output_item.done", {{"output_index", 0}, {"item", call_}});
  object_["output"] = json::array({call_});
}

void ResponseLog::Finish(std::string_view reason, const ResponseCounts& counts) {
  if (ended_) return;
  const bool cut = reason == "length";
  if (call_.is_null()) {
    EndText();
  } else {
    EndCall(cut ? "incomplete" : "completed");
  }
  object_["usage"] = {{"input_tokens", counts.prompt},
                      {"input_tokens_details", {{"cached_tokens", counts.cached}}},
                      {"output_tokens", counts.output},
                      {"output_tokens_details", {{"reasoning_tokens", 0}}},
                      {"total_tokens", counts.prompt + counts.output}};
  if (cut) object_["incomplete_details"] = {{"reason", "max_output_tokens"}};
  End("response.completed", cut ? "incomplete" : "completed");
}

void ResponseLog::Fail(const std::string& message) {
  if (ended_) return;
  object_["error"] = {{"code", "server_error"}, {"message", message}};
  End("response.failed", "failed");
}

void ResponseLog::Cancel() {
  if (!ended_) End("response.failed", "cancelled");
}

}  // namespace penstock::simulated
