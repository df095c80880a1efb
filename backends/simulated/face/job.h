// The request of a client, checked and planned, or the error that the client gets.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_JOB_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/face/choice_plan.h"
#include "backends/simulated/face/response_log.h"
#include "backends/simulated/handover/cache_words.h"
#include "backends/simulated/handover/kept_caches.h"
#include "backends/simulated/machine/text.h"
#include "base/units.h"

namespace penstock::simulated {

enum class Route { kChat, kCompletions, kEmbeddings, kMessages, kResponses };

// One prompt as tokens.
struct Prompt {
  Tokens tokens{0};
  std::vector<uint64_t> blocks;
  Conversation conversation = 0;  // An embedding: the hash of the input.
  Given given;                    // The part of the answer that the prompt already contains.
};

struct Job {
  Route route = Route::kChat;
  std::string id;
  std::string model;    // The name in the answers.
  std::string session;  // For the events of the cache.
  bool stream = false;
  bool include_usage = false;
  std::optional<std::string> tool;  // The name of the function that the answer calls.
  std::optional<Tokens> max_tokens;
  std::vector<Prompt> prompts;
  std::vector<ChoicePlan> choices;  // Empty for embeddings.
  int dimensions = 256;             // Embeddings.
  bool base64 = false;
  CacheOrder cache;                  // The words of kv_transfer_params.
  std::shared_ptr<KeptCaches> kept;  // Its cache goes there behind its end. Null: nowhere.
  CachePlace kept_at;                // The place of that cache.
  Tokens block{16};                  // The tokens of its blocks.
  Tokens arrived{0};                 // Tokens of the prompt whose cache another engine handed over.
  std::shared_ptr<ResponseLog> log;  // A response; the answer goes there.
};

struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "BadRequestError";
  std::string param;             // Empty: null.
  std::optional<Tokens> prompt;  // The length of a prompt that is too long.
};

// The headers that change an answer.
struct JobHeaders {
  std::string_view output_tokens;  // x-simulated-output-tokens; empty: none.
  std::string_view request_id;     // x-request-id; empty: none.
  std::string_view session = {};   // x-session-id; empty: none.
};

// Checks the request and plans its choices. Costs one JSON parse and one pass over the prompt. `serial` makes the id of
// the answer when the client gave none.
std::variant<Job, ApiError> ParseJob(Route route, std::string_view body, const JobHeaders& headers,
                                     const Engine& engine, uint64_t serial);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_JOB_H_
