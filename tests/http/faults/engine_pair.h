// Two scripted engines behind a router; the first engine that is asked dies once in the middle of its answer.
#ifndef PENSTOCK_TESTS_HTTP_FAULTS_ENGINE_PAIR_H_
#define PENSTOCK_TESTS_HTTP_FAULTS_ENGINE_PAIR_H_

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/http/test_server.h"

namespace penstock {

// The status pages of a vLLM engine, by target.
inline const std::map<std::string, std::string> kVllmPages = {
    {"/v1/models", R"({"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm","max_model_len":4096}]})"},
    {"/metrics", "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0\n"},
    {"/tokenize", R"({"count":0})"},
    {"/health", ""}};

// The status pages of llama-server, by target.
inline const std::map<std::string, std::string> kLlamaPages = {
    {"/v1/models",
     R"({"object":"list","data":[{"id":"m","object":"model","owned_by":"llamacpp","meta":{"n_ctx":4096}}]})"},
    {"/props",
     R"({"total_slots":4,"model_path":"m.gguf","model_alias":"m","build_info":"b1","is_sleeping":false,)"
     R"("default_generation_settings":{"n_ctx":4096},"chat_template":"x","endpoint_slots":true,"endpoint_metrics":false})"},
    {"/health", "{\"status\":\"ok\"}"},
    {"/slots", "[]"}};

// An engine's whole answer has this many words.
inline constexpr int kWords = 8;
// The word at this position, with a blank before it.
inline std::string Word(int position) { return " w" + std::to_string(position); }
std::string WholeText();

// The way in which an engine dies behind a few words.
using Death = std::function<void(EngineCall&)>;
// All deaths, with their names.
const std::vector<std::pair<std::string, Death>>& Deaths();

// Both engines say the same. Thread-safe.
class EnginePair {
 public:
  struct Options {
    int words_before_death = 3;
    bool streams_role = true;
    bool reasons = false;
    std::string engine = "vllm";
  };
  // `adjust` changes the router's configuration.
  EnginePair(Death death, Options options, const std::function<void(Config&)>& adjust = nullptr);

  // The bodies of all requests so far, in the order of their arrival.
  std::vector<std::string> bodies() {
    std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  // The number of words that a request's text has already.
  static int Given(const nlohmann::json& body);
  std::string Chunk(int call, const std::string& choice, const std::string& more = "") const;
  void Serve(EngineCall& call);
  void AnswerWhole(EngineCall& call, int number);

  const Death death_;
  const Options options_;
  std::mutex mutex_;
  std::vector<std::string> bodies_;

 public:
  ScriptedEngine a{[this](EngineCall& call) { Serve(call); }, kVllmPages};
  ScriptedEngine b{[this](EngineCall& call) { Serve(call); }, kVllmPages};
  TestServer router;
};

// A client's reading of a stream.
struct SeenStream {
  std::string text;
  std::string finish;
  int roles = 0;
  int errors = 0;
  std::string error;
  int done = 0;
  nlohmann::json usage;
  std::set<std::string> names;  // id, created and model of every chunk.
};
SeenStream ReadStream(const WireMessage& answer);

// A streamed chat request that asks for usage. `more` goes into its body.
std::string ChatStream(const std::string& more = "", const std::string& headers = "");

}  // namespace penstock

#endif  // PENSTOCK_TESTS_HTTP_FAULTS_ENGINE_PAIR_H_
