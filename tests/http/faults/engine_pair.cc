#include "tests/http/faults/engine_pair.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Json = nlohmann::json;

}  // namespace

std::string WholeText() {
  std::string text;
  for (int i = 0; i < kWords; ++i) text += Word(i);
  return text;
}

const std::vector<std::pair<std::string, Death>>& Deaths() {
  static const std::vector<std::pair<std::string, Death>> deaths = {
      {"closed", [](EngineCall& call) { call.wire.Close(); }},
      {"truncated chunk", [](EngineCall& call) { call.wire.Send("400\r\ndata: {\"cho"), call.wire.Close(); }},
      {"no chunk", [](EngineCall& call) { call.wire.Send("zz\r\nnonsense"), call.wire.Close(); }},
      {"garbage event", [](EngineCall& call) { call.Chunk("data: <oops>\n\n"), call.wire.WaitClosed(); }},
      {"clean end without a finish", [](EngineCall& call) { call.wire.Send("0\r\n\r\n"); }},
      {"silence", [](EngineCall& call) { call.wire.WaitClosed(); }},
      {"server error", [](EngineCall& call) { call.Event(R"({"error":{"code":500,"message":"EngineCore died"}})"); }},
      {"overloaded", [](EngineCall& call) { call.Event(R"({"error":{"code":503,"message":"shutting down"}})"); }},
  };
  return deaths;
}

EnginePair::EnginePair(Death death, Options options, const std::function<void(Config&)>& adjust)
    : death_(std::move(death)), options_(options), router({a.url(), b.url()}, [&](Config& config) {
        for (ReplicaConfig& replica : config.replicas) replica.engine = options.engine;
        config.limits.gap_timeout = Duration::Milliseconds(200);
        if (adjust) adjust(config);
      }) {}

int EnginePair::Given(const Json& body) {
  std::string text;
  if (body.contains("prompt")) text = body["prompt"].get<std::string>().substr(std::string("Once").size());
  if (body.contains("messages") && body["messages"].back()["role"] == "assistant") {
    text = body["messages"].back()["content"].get<std::string>();
  }
  int words = 0;
  while (words < kWords && text.find(Word(words)) != std::string::npos) ++words;
  return words;
}

std::string EnginePair::Chunk(int call, const std::string& choice, const std::string& more) const {
  return "{\"id\":\"c" + std::to_string(call) + "\",\"created\":" + std::to_string(call) + ",\"model\":\"engine-" +
         std::to_string(call) + "\",\"choices\":[" + choice + "]" + more + "}";
}

void EnginePair::Serve(EngineCall& call) {
  std::unique_lock lock(mutex_);
  bodies_.push_back(call.request.body);
  const int number = static_cast<int>(bodies_.size());
  lock.unlock();
  const Json body = Json::parse(call.request.body);
  const bool chat = body.contains("messages");
  const int limit = body.value("max_tokens", 100);
  if (!body.value("stream", false)) return AnswerWhole(call, number);
  call.BeginStream();
  if (chat && options_.streams_role) {
    call.Event(Chunk(number, R"({"index":0,"delta":{"role":"assistant","content":""}})"));
  }
  const int given = Given(body);
  int said = 0;
  for (int i = given; i < kWords && said < limit; ++i, ++said) {
    if (number == 1 && said == options_.words_before_death) return death_(call);
    const std::string field = options_.reasons ? "reasoning_content" : "content";
    call.Event(Chunk(number, chat ? R"({"index":0,"delta":{")" + field + R"(":")" + Word(i) + "\"}}"
                                  : R"({"index":0,"text":")" + Word(i) + "\"}"));
  }
  if (number == 1 && said == options_.words_before_death) return death_(call);
  const std::string reason = said == limit ? "length" : "stop";
  call.Event(Chunk(number, (chat ? R"({"index":0,"delta":{})" : R"({"index":0,"text":"")") +
                               std::string(",\"finish_reason\":\"") + reason + "\"}"));
  const std::string usage = ",\"usage\":{\"prompt_tokens\":" + std::to_string(10 + given) +
                            ",\"completion_tokens\":" + std::to_string(said) + "}";
  if (call.request.body.find("\"include_usage\":true") != std::string::npos) call.Event(Chunk(number, "", usage));
  call.EndStream();
}

void EnginePair::AnswerWhole(EngineCall& call, int number) {
  if (number == 1) return death_(call);
  call.Answer(200, R"({"choices":[{"index":0,"message":{"role":"assistant","content":")" + WholeText() +
                       R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":8}})");
}

SeenStream ReadStream(const WireMessage& answer) {
  SeenStream seen;
  for (size_t at = answer.body.find("data: "); at != std::string::npos; at = answer.body.find("data: ", at + 1)) {
    const std::string data = answer.body.substr(at + 6, answer.body.find('\n', at) - at - 6);
    if (data == "[DONE]") {
      ++seen.done;
      continue;
    }
    const Json event = Json::parse(data, nullptr, false);
    if (!event.is_object()) {
      ADD_FAILURE() << data;
      continue;
    }
    if (event.contains("error")) {
      ++seen.errors;
      seen.error = event["error"]["message"];
      continue;
    }
    seen.names.insert(event["id"].dump() + event["created"].dump() + event["model"].dump());
    if (event.contains("usage") && event["usage"].is_object()) seen.usage = event["usage"];
    for (const Json& choice : event["choices"]) {
      if (choice.contains("delta")) {
        seen.roles += choice["delta"].contains("role") ? 1 : 0;
        const Json content = choice["delta"].value("content", Json());
        if (content.is_string()) seen.text += content.get<std::string>();
      }
      if (choice.contains("text")) seen.text += choice["text"].get<std::string>();
      if (choice.contains("finish_reason") && choice["finish_reason"].is_string())
        seen.finish = choice["finish_reason"];
    }
  }
  return seen;
}

std::string ChatStream(const std::string& more, const std::string& headers) {
  return PostJson("/v1/chat/completions", StreamBody(",\"stream_options\":{\"include_usage\":true}" + more), headers);
}

}  // namespace penstock
