// Turns the inputs of a request into token counts, block hashes and conversations.
#ifndef PENSTOCK_BACKENDS_SIMULATED_PROMPTS_H_
#define PENSTOCK_BACKENDS_SIMULATED_PROMPTS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backends/simulated/body_reader.h"
#include "backends/simulated/job.h"
#include "backends/simulated/tokenizer.h"

namespace penstock::simulated {

struct PromptOptions {
  uint64_t seed = 1;
  Tokens block{16};
  uint64_t salt = 0;  // Of cache_salt.
};

// The chat template: one mark at the beginning, three around each message, three that open the answer. A trailing
// assistant message stays open: the answer goes on from it. Errors are left in the reader.
Prompt ReadChat(BodyReader& body, const PromptOptions& options);
// `field` is a string, an array of strings, an array of token ids, or an array of such arrays.
std::vector<Prompt> ReadPrompts(BodyReader& body, const char* field, const PromptOptions& options);
Prompt ReadText(std::string_view text, const PromptOptions& options);

// Token ids of the chat template's prompt, for /tokenize.
std::vector<TokenId> ChatTokens(BodyReader& body);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_PROMPTS_H_
