// The inputs of a request as token counts, block hashes and conversations.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_PROMPTS_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_PROMPTS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backends/simulated/face/body_reader.h"
#include "backends/simulated/face/job.h"
#include "backends/simulated/machine/tokenizer.h"

namespace penstock::simulated {

struct PromptOptions {
  uint64_t seed = 1;
  Tokens block{16};
  uint64_t salt = 0;         // The hash of cache_salt.
  bool begins_anew = false;  // A trailing assistant message is not continued.
};

// Applies the chat template: one mark at the beginning, three marks in each message, and the opening of the answer. The
// answer continues a trailing assistant message. Errors stay in the reader.
Prompt ReadChat(BodyReader& body, const PromptOptions& options);
// `field` is a string, an array of strings, an array of token ids, or an array of such arrays.
std::vector<Prompt> ReadPrompts(BodyReader& body, const char* field, const PromptOptions& options);
Prompt ReadText(std::string_view text, const PromptOptions& options);

// The token ids of the chat prompt, for /tokenize.
std::vector<TokenId> ChatTokens(BodyReader& body);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_PROMPTS_H_
