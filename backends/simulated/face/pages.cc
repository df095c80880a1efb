#include "backends/simulated/face/pages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "backends/simulated/face/answer.h"
#include "backends/simulated/face/body_reader.h"
#include "backends/simulated/face/metrics_page.h"
#include "backends/simulated/face/prompts.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr char kVersion[] = "0.20.0";
constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";

Page Json(const json& body) { return {200, body.dump(-1, ' ', false, json::error_handler_t::replace)}; }

json VllmCard(const Engine& engine, const std::string& name, int64_t now) {
  return {{"id", name},
          {"object", "model"},
          {"created", now},
          {"owned_by", "vllm"},
          {"root", engine.spec().model},
          {"parent", nullptr},
          {"max_model_len", engine.MaxContext().value()},
          {"permission", json::array()}};
}

json AdapterCard(const Engine& engine, const std::string& name, const std::string& path, int64_t now) {
  json card = VllmCard(engine, name, now);
  card["root"] = path;
  card["parent"] = engine.spec().model;
  card["max_model_len"] = nullptr;
  return card;
}

Page VllmModels(const Engine& engine, int64_t now) {
  json data = json::array({VllmCard(engine, engine.spec().model, now)});
  for (const std::string& alias : engine.spec().aliases) data.push_back(VllmCard(engine, alias, now));
  for (const auto& [name, path] : engine.adapters().loaded()) data.push_back(AdapterCard(engine, name, path, now));
  return Json({{"object", "list"}, {"data", std::move(data)}});
}

Page VllmModel(const Engine& engine, std::string_view name, int64_t now) {
  for (const auto& [adapter, path] : engine.adapters().loaded()) {
    if (adapter == name) return Json(AdapterCard(engine, adapter, path, now));
  }
  if (engine.spec().Serves(std::string(name))) return Json(VllmCard(engine, std::string(name), now));
  return ErrorPage({404, "The model `" + std::string(name) + "` does not exist.", "NotFoundError", "model", {}},
                   engine);
}

Page VllmTokenize(const PageRequest& request, const Engine& engine) {
  BodyReader body(request.body, false);
  std::vector<TokenId> ids;
  if (!body.error() && body.Find("messages") != nullptr) {
    ids = ChatTokens(body);
  } else if (!body.error()) {
    const auto text = body.Text("prompt");
    if (!text) body.FailField("prompt", "prompt: Field required", "Bad Request");
    const json* special = body.Find("add_special_tokens");
    if (special == nullptr || *special != false) ids.push_back(Mark(0));
    if (text) Tokenize(*text, ids);
  }
  if (body.error()) return ErrorPage(*body.error(), engine);
  return Json({{"count", ids.size()},
               {"max_model_len", engine.MaxContext().value()},
               {"tokens", ids},
               {"token_strs", nullptr}});
}

Page Detokenize(const PageRequest& request, const Engine& engine) {
  const bool llama = engine.spec().LlamaDialect();
  BodyReader body(request.body, llama);
  std::string text;
  const json* ids = body.error() ? nullptr : body.Find("tokens");
  if (ids == nullptr || !ids->is_array()) {
    body.FailField("tokens", "tokens: Input should be a list of token ids", "Bad Request");
  } else {
    for (const json& id : *ids) {
      if (id.is_number_integer()) text += TextOf(id.get<TokenId>());
    }
  }
  if (body.error()) return ErrorPage(*body.error(), engine);
  return Json({{llama ? "content" : "prompt", text}});
}

Page CountTokens(const PageRequest& request, const Engine& engine) {
  BodyReader body(ChatOfMessages(request.body), engine.spec().LlamaDialect());
  const std::vector<TokenId> ids = body.error() ? std::vector<TokenId>() : ChatTokens(body);
  if (body.error()) return ErrorPage(*body.error(), engine, Route::kMessages);
  return Json({{"input_tokens", ids.size()}});
}

Page LlamaTokenize(const PageRequest& request, const Engine& engine) {
  BodyReader body(request.body, true);
  std::vector<TokenId> ids;
  if (!body.error()) {
    if (body.Bool("add_special")) ids.push_back(Mark(0));
    if (const auto text = body.Text("content")) Tokenize(*text, ids);
  }
  if (body.error()) return ErrorPage(*body.error(), engine);
  return Json({{"tokens", ids}});
}

Page LlamaModels(const Engine& engine, int64_t now) {
  const std::string& name = engine.spec().model;
  const json meta = {{"n_ctx", engine.MaxContext().value()}, {"n_ctx_train", engine.MaxContext().value()}};
  const json card = {{"id", name},     {"aliases", json::array({name})}, {"tags", json::array()}, {"object", "model"},
                     {"created", now}, {"owned_by", "llamacpp"},         {"meta", meta}};
  return Json({{"object", "list"}, {"data", json::array({card})}});
}

Page LlamaProps(const Engine& engine) {
  return Json({{"default_generation_settings", {{"n_ctx", engine.MaxContext().value()}}},
               {"total_slots", engine.spec().limits.max_sequences},
               {"model_alias", engine.spec().model},
               {"model_path", engine.spec().model + ".gguf"},
               {"modalities", {{"vision", false}, {"audio", false}}},
               {"endpoint_slots", true},
               {"endpoint_props", false},
               {"endpoint_metrics", true},
               {"build_info", "penstock-simulated"},
               {"is_sleeping", false}});
}

Page LlamaSlots(const PageRequest& request, const Engine& engine) {
  const std::vector<Engine::Processing> running = engine.Running();
  const auto slots = static_cast<size_t>(engine.spec().limits.max_sequences);
  if (running.size() >= slots && request.query.find("fail_on_no_slot=1") != std::string_view::npos) {
    return ErrorPage({503, "no slot available", "unavailable_error", "", {}}, engine);
  }
  json list = json::array();
  for (size_t i = 0; i < slots; ++i) {
    json slot = {{"id", i},
                 {"n_ctx", engine.MaxContext().value()},
                 {"speculative", false},
                 {"is_processing", i < running.size()}};
    if (i < running.size()) {
      const Engine::Processing& task = running[i];
      const int64_t limit = task.max_tokens ? task.max_tokens->value() : -1;
      slot["id_task"] = task.id;
      slot["n_prompt_tokens"] = task.held.value();
      slot["n_prompt_tokens_processed"] = std::min(task.prompt, task.held).value();
      slot["n_prompt_tokens_cache"] = 0;
      slot["params"] = {{"max_tokens", limit}, {"n_predict", limit}, {"stream", task.stream}};
      slot["next_token"] = json::array({{{"has_next_token", true},
                                         {"n_remain", limit < 0 ? -1 : limit - task.generated.value()},
                                         {"n_decoded", task.generated.value()}}});
    }
    list.push_back(std::move(slot));
  }
  return Json(list);
}

bool IsGet(const PageRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

Page NotFound(const Engine& engine) {
  if (engine.spec().LlamaDialect()) return ErrorPage({404, "File Not Found", "not_found_error", "", {}}, engine);
  return ErrorPage({404, "Not Found", "NotFoundError", "", {}}, engine);
}

Page LlamaPage(const PageRequest& request, const Engine& engine) {
  const std::string_view path = request.path;
  if (IsGet(request)) {
    if (path == "/health" || path == "/v1/health") return Json({{"status", "ok"}});
    if (path == "/metrics") return {200, LlamaMetrics(engine), kTextFormat};
    if (path == "/props") return LlamaProps(engine);
    if (path == "/slots") return LlamaSlots(request, engine);
    if (path == "/v1/models" || path == "/models") return LlamaModels(engine, request.now_unix);
  }
  if (request.method == "POST" && path == "/tokenize") return LlamaTokenize(request, engine);
  if (request.method == "POST" && path == "/v1/messages/count_tokens") return CountTokens(request, engine);
  if (request.method == "POST" && path == "/detokenize") return Detokenize(request, engine);
  return NotFound(engine);
}

Page VllmMetricsPage(const Engine& engine) {
  const Engine* const one[] = {&engine};
  return {200, VllmMetrics(one), kTextFormat};
}

Page VllmPage(const PageRequest& request, const Engine& engine) {
  constexpr std::string_view kModels = "/v1/models/";
  const std::string_view path = request.path;
  if (IsGet(request)) {
    if (path == "/health" || path == "/ping") return {200, ""};
    if (path == "/metrics") return VllmMetricsPage(engine);
    if (path == "/version") return Json({{"version", kVersion}});
    if (path == "/v1/models") return VllmModels(engine, request.now_unix);
    if (path.substr(0, kModels.size()) == kModels) {
      return VllmModel(engine, path.substr(kModels.size()), request.now_unix);
    }
  }
  if (request.method == "POST") {
    if (path == "/ping") return {200, ""};
    if (path == "/tokenize") return VllmTokenize(request, engine);
    if (path == "/detokenize") return Detokenize(request, engine);
    if (path == "/v1/messages/count_tokens") return CountTokens(request, engine);
  }
  static constexpr std::string_view kKnown[] = {"/health",        "/metrics",        "/version",
                                                "/v1/models",     "/ping",           "/tokenize",
                                                "/detokenize",    "/v1/completions", "/v1/chat/completions",
                                                "/v1/embeddings", "/v1/messages",    "/v1/messages/count_tokens"};
  if (std::find(std::begin(kKnown), std::end(kKnown), path) == std::end(kKnown)) return NotFound(engine);
  return ErrorPage({405, "Method Not Allowed", "Bad Request", "", {}}, engine);
}

}  // namespace

Page RankMetricsPage(const Engines& ranks) {
  std::vector<const Engine*> all;
  for (const auto& rank : ranks) all.push_back(rank.get());
  return {200, VllmMetrics(all), kTextFormat};
}

Page ErrorPage(const ApiError& error, const Engine& engine, Route route) {
  return {error.status, ErrorBody(error, engine.spec().LlamaDialect(), engine.MaxContext(), route)};
}

Page AnswerPage(const PageRequest& request, const Engine& engine) {
  return engine.spec().LlamaDialect() ? LlamaPage(request, engine) : VllmPage(request, engine);
}

}  // namespace penstock::simulated
