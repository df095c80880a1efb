// A client's request as the simulated engine understands it, and what is wrong with one that it does not.
#ifndef PENSTOCK_BACKENDS_SIMULATED_JOB_H_
#define PENSTOCK_BACKENDS_SIMULATED_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/simulated/engine.h"
#include "backends/simulated/text.h"
#include "base/units.h"

namespace penstock::simulated {

enum class Route { kChat, kCompletions, kEmbeddings };

// One prompt, tokenised.
struct Prompt {
  Tokens tokens{0};
  std::vector<uint64_t> blocks;
  Conversation conversation = 0;  // For embeddings: a hash of the input.
  Given given;                    // Of its answer, in the prompt already.
};

// One answer to be made.
struct ChoicePlan {
  int prompt = 0;  // Index of its prompt.
  Conversation conversation = 0;
  Given given;
  Tokens output{0};     // At least 1.
  bool silent = false;  // The answer was complete already: one end token without text.
  FinishReason reason = FinishReason::kStop;
  std::optional<size_t> text_bytes;  // Text ends here, before a stop string.
  std::string stop;                  // The stop string that ends it.
};

struct Job {
  Route route = Route::kChat;
  std::string id;
  std::string model;  // As answers name it.
  bool stream = false;
  bool include_usage = false;
  std::optional<std::string> tool;  // A tool call is asked for; the name of its function.
  std::optional<Tokens> max_tokens;
  std::vector<Prompt> prompts;
  std::vector<ChoicePlan> choices;  // None for embeddings.
  int dimensions = 256;             // Embeddings.
  bool base64 = false;
};

struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "BadRequestError";
  std::string param;             // Empty: null.
  std::optional<Tokens> prompt;  // A prompt that is too long.
};

// What of a request's head matters.
struct JobHeaders {
  std::string_view output_tokens;  // x-simulated-output-tokens; empty: none.
  std::string_view request_id;     // x-request-id; empty: none.
};

// Checks and plans. Costs one JSON parse and one pass over the prompt. `serial` makes the answer's id when the client
// gave none.
std::variant<Job, ApiError> ParseJob(Route route, std::string_view body, const JobHeaders& headers,
                                     const Engine& engine, uint64_t serial);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_JOB_H_
