#include "backends/simulated/face/job.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "backends/simulated/face/answer_form.h"
#include "backends/simulated/face/body_reader.h"
#include "backends/simulated/face/prompts.h"
#include "backends/simulated/machine/mix.h"
#include "backends/simulated/messages/messages.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostChoices = 16384;  // vLLM's VLLM_MAX_N_SEQUENCES.

// The fields of the body besides the prompts.
struct Fields {
  std::optional<Tokens> max_tokens;
  std::optional<Tokens> header_output;
  int64_t n = 1;
  std::vector<std::string> stops;
  bool ends_of_itself = false;  // The limit only bounds the answer.
  AnswerForm form;
};

void ReadModel(BodyReader& body, const Engine& engine, Job& job) {
  job.model = engine.spec().model;
  const auto name = body.Text("model");
  if (!name || engine.spec().LlamaDialect()) return;
  if (!engine.spec().Serves(*name) && !engine.adapters().Has(*name)) {
    body.Fail({404, "The model `" + *name + "` does not exist.", "NotFoundError", "model", {}});
  }
  job.model = *name;
}

void ReadCache(BodyReader& body, const Engine& engine, Job& job) {
  const json* params = body.Find("kv_transfer_params");
  if (params == nullptr || engine.spec().LlamaDialect()) return;
  if (!params->is_object()) {
    body.FailField("kv_transfer_params", "kv_transfer_params: Input should be a valid dictionary", "Bad Request");
    return;
  }
  // Without a connector, vLLM warns and computes the prompt.
  if (engine.spec().hands_over) job.cache = ReadCacheOrder(*params);
  job.block = engine.spec().limits.block;
}

// llama-server: -1 is no limit, 0 makes one token, n_predict wins.
void ReadLimit(BodyReader& body, const Engine& engine, Route route, Fields& fields) {
  const bool llama = engine.spec().LlamaDialect();
  const int64_t least = llama ? -1 : 1;
  auto limit = body.Whole("max_tokens", least, kUnbounded);
  if (route == Route::kChat || llama) {
    const auto newer = body.Whole("max_completion_tokens", least, kUnbounded);
    if (newer) limit = newer;
  }
  if (llama) {
    const auto native = body.Whole("n_predict", least, kUnbounded);
    if (native) limit = native;
    if (limit && *limit < 0) limit.reset();
    if (limit && *limit == 0) limit = 1;
  }
  if (limit) fields.max_tokens = Tokens(*limit);
}

void ReadHeaderOutput(BodyReader& body, std::string_view header, Fields& fields) {
  if (header.empty()) return;
  int64_t tokens = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), tokens);
  if (error != std::errc() || end != header.data() + header.size() || tokens < 1) {
    body.FailField("x-simulated-output-tokens", "x-simulated-output-tokens must be a whole number of at least 1");
    return;
  }
  fields.header_output = Tokens(tokens);
}

void ReadStops(BodyReader& body, Fields& fields) {
  const json* stop = body.Find("stop");
  if (stop == nullptr) return;
  if (stop->is_string()) fields.stops.push_back(stop->get<std::string>());
  if (stop->is_array()) {
    for (const json& item : *stop) {
      if (item.is_string()) fields.stops.push_back(item.get<std::string>());
    }
  }
  if (!stop->is_string() && !stop->is_array()) {
    body.FailField("stop", "stop: Input should be a string or a list of strings", "Bad Request");
  }
  std::erase(fields.stops, std::string());
}

void ReadStreaming(BodyReader& body, Job& job) {
  job.stream = body.Bool("stream");
  const json* options = body.Find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) {
    body.FailField("stream_options", "stream_options: Input should be an object", "Bad Request");
    return;
  }
  if (!job.stream) {
    body.FailField("stream_options", "Stream options can only be defined when `stream=True`.", "Bad Request");
  }
  const auto usage = options->find("include_usage");
  job.include_usage = usage != options->end() && usage->is_boolean() && usage->get<bool>();
}

void ReadSampling(BodyReader& body, const Engine& engine, Fields& fields) {
  const bool llama = engine.spec().LlamaDialect();
  fields.n = body.Whole("n", 1, llama ? engine.spec().limits.max_sequences : kMostChoices).value_or(1);
  const auto temperature = body.Number("temperature", 0, 2);
  body.Number("top_p", 0, 1);
  if (!llama && temperature && *temperature == 0 && fields.n > 1) {
    body.FailField("n", "n must be 1 when using greedy sampling, got " + std::to_string(fields.n) + ".");
  }
}

void CheckContext(BodyReader& body, const Engine& engine, const Prompt& prompt, std::optional<Tokens> max_tokens) {
  const Tokens context = engine.MaxContext();
  const bool llama = engine.spec().LlamaDialect();
  const Tokens asked = llama ? Tokens(0) : max_tokens.value_or(Tokens(0));
  const bool fits = prompt.tokens < context && (llama || asked <= context - prompt.tokens);
  if (fits) return;
  const auto count = [](Tokens tokens) { return std::to_string(tokens.value()); };
  if (llama) {
    body.Fail({400,
               "request (" + count(prompt.tokens) + " tokens) exceeds the available context size (" + count(context) +
                   " tokens), try increasing it",
               "exceed_context_size_error", "", prompt.tokens});
    return;
  }
  const Tokens total = asked > Tokens(kUnbounded) - prompt.tokens ? Tokens(kUnbounded) : asked + prompt.tokens;
  body.Fail({400,
             "This model's maximum context length is " + count(context) + " tokens. However, you requested " +
                 count(asked) + " output tokens and your prompt contains " + count(prompt.tokens) +
                 " input tokens, for a total of " + count(total) +
                 " tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
             "BadRequestError", "input_tokens", prompt.tokens});
}

// The length that the answer would have without a limit.
Tokens WantedOutput(uint64_t seed, const Fields& fields, const ChoicePlan& choice) {
  if (choice.document) return Tokens(std::ssize(*choice.document));
  // The header and the draw count the whole answer, given text included. As in every engine, max_tokens counts only the
  // rest.
  const Tokens whole = fields.header_output ? *fields.header_output : DrawOutput(seed, choice.conversation);
  return whole - choice.given.tokens;
}

ChoicePlan PlanChoice(BodyReader& body, const Engine& engine, const Job& job, const Fields& fields, int prompt_index,
                      int64_t copy) {
  const Prompt& prompt = job.prompts[prompt_index];
  const uint64_t seed = engine.spec().seed;
  ChoicePlan choice;
  choice.prompt = prompt_index;
  choice.given = prompt.given;
  choice.conversation = copy == 0 ? prompt.conversation : Mix(prompt.conversation, static_cast<uint64_t>(copy));
  choice.document = WriteDocument(body, fields.form, seed, choice.conversation);
  if (choice.document) choice.given = {};
  const bool ends_of_itself = fields.header_output || fields.ends_of_itself || choice.document;
  const bool limit_decides = !ends_of_itself && fields.max_tokens;
  const Tokens wanted = limit_decides ? *fields.max_tokens : WantedOutput(seed, fields, choice);
  choice.silent = wanted < Tokens(1);
  const Tokens room = engine.MaxContext() - prompt.tokens;
  const Tokens limit = std::min(room, fields.max_tokens.value_or(room));
  choice.output = std::max(Tokens(1), std::min(wanted, limit));
  // A document is whole at its last token, whatever the limit.
  const bool at_limit =
      fields.max_tokens && (choice.document ? wanted > *fields.max_tokens : wanted >= *fields.max_tokens);
  if (limit_decides || at_limit || wanted > room) choice.reason = FinishReason::kLength;
  choice.ApplyStops(seed, fields.stops);
  const bool cut = choice.document && choice.reason == FinishReason::kLength;
  if (job.tool && !cut) choice.reason = FinishReason::kToolCalls;
  return choice;
}

std::string AnswerId(Route route, std::string_view given, bool llama, uint64_t serial) {
  const char* prefix = route == Route::kChat || llama ? "chatcmpl-" : route == Route::kEmbeddings ? "embd-" : "cmpl-";
  if (route == Route::kMessages || route == Route::kResponses) prefix = route == Route::kMessages ? "msg_" : "resp_";
  std::string id(prefix);
  const bool plain = given.size() <= 128 && std::all_of(given.begin(), given.end(), [](char c) {
                       return c > ' ' && c < 0x7f && c != '"' && c != '\\';
                     });
  if (!given.empty() && plain && !llama && route != Route::kResponses) return id.append(given);
  for (const uint64_t half : {Mix(serial, 1), Mix(serial, 2)}) {
    for (int shift = 60; shift >= 0; shift -= 4) id += "0123456789abcdef"[half >> shift & 15];
  }
  return id;
}

void ReadEmbedding(BodyReader& body, const PromptOptions& options, Job& job) {
  job.prompts = ReadPrompts(body, "input", options);
  job.dimensions = static_cast<int>(body.Whole("dimensions", 1, 8192).value_or(job.dimensions));
  const auto format = body.Text("encoding_format");
  job.base64 = format == "base64";
  if (format && *format != "base64" && *format != "float") {
    body.FailField("encoding_format", "encoding_format: Input should be 'float' or 'base64'", "Bad Request");
  }
}

Fields ReadGeneration(BodyReader& body, const JobHeaders& headers, const Engine& engine, const PromptOptions& options,
                      Job& job) {
  Fields fields;
  ReadStreaming(body, job);
  ReadSampling(body, engine, fields);
  ReadLimit(body, engine, job.route, fields);
  ReadHeaderOutput(body, headers.output_tokens, fields);
  ReadStops(body, fields);
  job.max_tokens = fields.max_tokens;
  if (body.error()) return fields;
  fields.ends_of_itself = engine.spec().natural && !body.Bool("ignore_eos");
  if (job.route == Route::kCompletions) {
    job.prompts = ReadPrompts(body, "prompt", options);
    return fields;
  }
  job.prompts.push_back(ReadChat(body, options));
  if (body.error()) return fields;
  fields.form = ReadAnswerForm(body, engine.spec().natural, engine.spec().seed, job.prompts.front().conversation);
  job.tool = fields.form.tool;
  return fields;
}

void PlanChoices(BodyReader& body, const Engine& engine, const Fields& fields, Job& job) {
  for (size_t i = 0; i < job.prompts.size(); ++i) {
    for (int64_t copy = 0; copy < fields.n; ++copy) {
      job.choices.push_back(PlanChoice(body, engine, job, fields, static_cast<int>(i), copy));
    }
  }
}

PromptOptions OptionsOf(BodyReader& body, const Engine& engine, const Job& job) {
  const bool begins_anew = job.route == Route::kMessages && !engine.spec().LlamaDialect();
  PromptOptions options{engine.spec().seed, engine.spec().limits.block, 0, begins_anew};
  if (const auto salt = body.Text("cache_salt")) {
    ByteHash hash;
    hash.Add(*salt);
    options.salt = hash.Value();
  }
  if (engine.adapters().Has(job.model)) {  // Its cache is its own.
    ByteHash hash;
    hash.Add(job.model);
    options.salt = Mix(options.salt, hash.Value());
  }
  return options;
}

}  // namespace

std::variant<Job, ApiError> ParseJob(Route route, std::string_view text, const JobHeaders& headers,
                                     const Engine& engine, uint64_t serial) {
  const bool llama = engine.spec().LlamaDialect();
  BodyReader body(route == Route::kMessages ? ChatOfMessages(text) : std::string(text), llama);
  if (body.error()) return *body.error();
  Job job;
  job.route = route;
  job.session = std::string(headers.session);
  job.id = AnswerId(route, headers.request_id, llama, serial);
  ReadModel(body, engine, job);
  const PromptOptions options = OptionsOf(body, engine, job);
  Fields fields;
  if (route == Route::kEmbeddings) {
    ReadEmbedding(body, options, job);
  } else {
    fields = ReadGeneration(body, headers, engine, options, job);
    ReadCache(body, engine, job);
  }
  for (const Prompt& prompt : job.prompts) {
    if (!body.error()) CheckContext(body, engine, prompt, fields.max_tokens);
  }
  const bool many = static_cast<int64_t>(job.prompts.size()) * fields.n > kMostChoices;
  if (many) body.FailField("n", "prompts times n must be at most " + std::to_string(kMostChoices) + ".");
  if (body.error()) return *body.error();
  if (route != Route::kEmbeddings) PlanChoices(body, engine, fields, job);
  if (body.error()) return *body.error();
  return job;
}

}  // namespace penstock::simulated
