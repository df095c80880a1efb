#include "backends/simulated/face/answer.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/simulated/machine/mix.h"
#include "backends/simulated/messages/json_text.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr char kFingerprint[] = "penstock-simulated";

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kToolCalls:
      return "tool_calls";
  }
  return "stop";
}

std::string UsageJson(const UsageCount& usage, bool llama) {
  std::string out = "{\"prompt_tokens\":" + std::to_string(usage.prompt.value()) +
                    ",\"total_tokens\":" + std::to_string((usage.prompt + usage.output).value()) +
                    ",\"completion_tokens\":" + std::to_string(usage.output.value());
  if (llama) out += ",\"prompt_tokens_details\":{\"cached_tokens\":" + std::to_string(usage.cached.value()) + "}";
  return out + "}";
}

// The counts that llama-server puts beside its answers; times are not simulated.
std::string TimingsJson(const UsageCount& usage) {
  return "{\"cache_n\":" + std::to_string(usage.cached.value()) +
         ",\"prompt_n\":" + std::to_string((usage.prompt - usage.cached).value()) +
         ",\"predicted_n\":" + std::to_string(usage.output.value()) + "}";
}

std::string StopJson(std::string_view stop) { return stop.empty() ? "null" : Quoted(stop); }

MessageCounts CountsOf(const UsageCount& usage) {
  return {usage.prompt.value(), usage.output.value(), usage.cached.value()};
}

json ToolMessage(const std::string& name, const std::string& id, const std::string& text) {
  const json call = {{"id", "call_" + id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", text}}}};
  return {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", json::array({call})}};
}

json ChatChoice(const Job& job, int index, const ChoiceAnswer& choice, bool llama) {
  json message = {{"role", "assistant"}, {"content", choice.text}};
  if (!llama) message["tool_calls"] = json::array();
  if (job.tool) message = ToolMessage(*job.tool, job.id, choice.text);
  return {{"index", index},
          {"message", std::move(message)},
          {"logprobs", nullptr},
          {"finish_reason", NameOf(choice.reason)}};
}

json ChoiceJson(const Job& job, int index, const ChoiceAnswer& choice, bool llama) {
  json out = job.route == Route::kChat ? ChatChoice(job, index, choice, llama)
                                       : json{{"index", index},
                                              {"text", choice.text},
                                              {"logprobs", nullptr},
                                              {"finish_reason", NameOf(choice.reason)}};
  if (!llama) out["stop_reason"] = choice.stop.empty() ? json() : json(choice.stop);
  return out;
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kDigits[group >> (18 - 6 * static_cast<int>(j)) & 63];
    }
  }
  return out;
}

// A unit vector that depends on the input only.
std::vector<float> Embed(uint64_t seed, Conversation input, int dimensions) {
  std::vector<float> vector(static_cast<size_t>(dimensions));
  double squares = 0;
  for (size_t i = 0; i < vector.size(); ++i) {
    const double value = 2 * Uniform(Mix(Mix(seed, input), i)) - 1;
    vector[i] = static_cast<float>(value);
    squares += value * value;
  }
  const double norm = squares > 0 ? 1 / std::sqrt(squares) : 1;
  for (float& value : vector) value = static_cast<float>(value * norm);
  return vector;
}

}  // namespace

std::string Quoted(std::string_view text) {
  return json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

EventWriter::EventWriter(const Job& job, bool llama, int64_t created)
    : llama_(llama), chat_(job.route == Route::kChat), log_(job.log), tool_(job.tool.value_or("")), id_(job.id) {
  const std::string object = chat_ ? "chat.completion.chunk" : "text_completion";
  const std::string common = "\"id\":" + Quoted(job.id) + ",\"object\":\"" + object +
                             "\",\"created\":" + std::to_string(created) + ",\"model\":" + Quoted(job.model);
  if (llama) {
    head_ = "data: {\"choices\":[";
    tail_ = "]," + common + ",\"system_fingerprint\":\"" + kFingerprint + "\"";
  } else {
    head_ = "data: {" + common + ",\"choices\":[";
    tail_ = "]";
  }
  if (job.route == Route::kMessages) message_.emplace(job.id, job.model, tool_);
}

void EventWriter::Open(std::string& out) const { out += head_; }
void EventWriter::Close(std::string& out) const {
  out += tail_;
  out += "}\n\n";
}

void EventWriter::Role(int choice, const UsageCount& usage, std::string& out) const {
  if (message_) return message_->Start(CountsOf(usage), out);
  Open(out);
  out += "{\"index\":" + std::to_string(choice) + ",\"delta\":{\"role\":\"assistant\",\"content\":";
  out += llama_ || !tool_.empty() ? "null" : "\"\"";
  out += llama_ ? "},\"finish_reason\":null}" : "},\"logprobs\":null,\"finish_reason\":null}";
  Close(out);
}

void EventWriter::Text(int choice, std::string_view text, std::string& out) const {
  if (message_) return message_->Text(text, out);
  if (log_) return log_->Text(text);
  Open(out);
  out += "{\"index\":";
  out += std::to_string(choice);
  out += chat_ ? ",\"delta\":{\"content\":\"" : ",\"text\":\"";
  AppendEscaped(text, out);
  out += chat_ ? "\"}" : "\"";
  out += chat_ && llama_ ? ",\"finish_reason\":null}" : ",\"logprobs\":null,\"finish_reason\":null}";
  Close(out);
}

void EventWriter::ToolText(int choice, std::string_view text, bool first, std::string& out) const {
  if (message_) return message_->ToolText(text, out);
  if (log_) return log_->Arguments(tool_, text);
  Open(out);
  out += "{\"index\":" + std::to_string(choice) + ",\"delta\":{\"tool_calls\":[{\"index\":0,";
  if (first) out += "\"id\":" + Quoted("call_" + id_) + ",\"type\":\"function\",";
  out += "\"function\":{";
  if (first) out += "\"name\":" + Quoted(tool_) + ",";
  out += "\"arguments\":\"";
  AppendEscaped(text, out);
  out += "\"}}]},\"logprobs\":null,\"finish_reason\":null}";
  Close(out);
}

void EventWriter::Finish(int choice, FinishReason reason, std::string_view stop, const UsageCount& usage,
                         std::string& out) const {
  if (message_) return message_->Finish({NameOf(reason), stop}, CountsOf(usage), out);
  if (log_) return log_->Finish(NameOf(reason), {usage.prompt.value(), usage.output.value(), usage.cached.value()});
  Open(out);
  out += "{\"index\":" + std::to_string(choice);
  out += !chat_ ? ",\"text\":\"\"" : llama_ || !tool_.empty() ? ",\"delta\":{}" : ",\"delta\":{\"content\":\"\"}";
  out += ",\"logprobs\":null,\"finish_reason\":\"";
  out += NameOf(reason);
  out += "\"";
  if (!llama_) out += ",\"stop_reason\":" + StopJson(stop);
  out += "}" + tail_;
  if (llama_) {
    if (!chat_) out += ",\"usage\":" + UsageJson(usage, llama_);
    out += ",\"timings\":" + TimingsJson(usage);
  }
  out += "}\n\n";
}

void EventWriter::Usage(const UsageCount& usage, std::string& out) const {
  Open(out);
  out += tail_ + ",\"usage\":" + UsageJson(usage, llama_);
  if (llama_) out += ",\"timings\":" + TimingsJson(usage);
  out += "}\n\n";
}

void EventWriter::Done(std::string& out) const {
  if (message_) return MessageEvents::Stop(out);
  if (log_) return;
  out += "data: [DONE]\n\n";
}

// llama-server and messages end here; a chat of vLLM still sends [DONE].
void EventWriter::Error(std::string_view body, std::string& out) const {
  out.append(message_ ? "event: error\ndata: " : "data: ").append(body).append("\n\n");
  if (!llama_ && !message_) Done(out);
}

std::string WholeAnswer(const Job& job, bool llama, int64_t created, const std::vector<ChoiceAnswer>& choices,
                        const UsageCount& usage) {
  if (job.route == Route::kMessages) {
    const ChoiceAnswer& choice = choices.front();
    const std::string tool = job.tool.value_or("");
    return WholeMessage({job.id, job.model, tool, choice.text, {NameOf(choice.reason), choice.stop}}, CountsOf(usage));
  }
  json answer = {{"id", job.id},
                 {"object", job.route == Route::kChat ? "chat.completion" : "text_completion"},
                 {"created", created},
                 {"model", job.model},
                 {"choices", json::array()},
                 {"usage", json::parse(UsageJson(usage, llama))}};
  for (size_t i = 0; i < choices.size(); ++i) {
    answer["choices"].push_back(ChoiceJson(job, static_cast<int>(i), choices[i], llama));
  }
  if (job.kept) {
    answer["kv_transfer_params"] = CacheOffer(job.kept_at, usage.prompt, job.block, usage.cached);
  }
  if (llama) {
    answer["system_fingerprint"] = kFingerprint;
    answer["timings"] = json::parse(TimingsJson(usage));
  }
  return answer.dump();
}

std::string EmbeddingAnswer(const Job& job, uint64_t seed, int64_t created, const UsageCount& usage) {
  json data = json::array();
  for (size_t i = 0; i < job.prompts.size(); ++i) {
    const std::vector<float> vector = Embed(seed, job.prompts[i].conversation, job.dimensions);
    json embedding = vector;
    if (job.base64) {
      std::string bytes(vector.size() * sizeof(float), '\0');
      std::memcpy(bytes.data(), vector.data(), bytes.size());
      embedding = Base64(bytes);
    }
    data.push_back({{"index", i}, {"object", "embedding"}, {"embedding", std::move(embedding)}});
  }
  const json answer = {
      {"id", job.id},       {"object", "list"},        {"created", created},
      {"model", job.model}, {"data", std::move(data)}, {"usage", json::parse(UsageJson(usage, false))}};
  return answer.dump();
}

std::string ErrorBody(const ApiError& error, bool llama, Tokens context, Route route) {
  if (route == Route::kMessages) return MessageError(error.status, error.message);
  json inner = {{"message", error.message}, {"type", error.type}, {"code", error.status}};
  if (!llama) inner["param"] = error.param.empty() ? json() : json(error.param);
  if (llama && error.prompt) {
    inner["n_prompt_tokens"] = error.prompt->value();
    inner["n_ctx"] = context.value();
  }
  return json{{"error", std::move(inner)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

ApiError PoolExhausted() { return {500, "Context size has been exceeded.", "server_error", "", {}}; }

}  // namespace penstock::simulated
