#include "router/openai/answer/usage_check.h"

#include <algorithm>

namespace penstock {
namespace {

// Engines differ in the tokens that they count around a text: marks of the end, of a turn, of several tokens at a time.
constexpr Tokens kUsageSlack{64};
// A configured context may be smaller than the engine's own, and the estimate of a prompt may be too low.
constexpr int64_t kContextSlack = 2;

}  // namespace

UsageBounds BoundsOf(const RequestFacts& facts, Tokens context) {
  int64_t prompt = kMostTokensOfOne;
  if (context > Tokens(0) && context < Tokens(kMostTokensOfOne))
    prompt = std::min(prompt, kContextSlack * context.value());
  int64_t output = prompt;
  if (facts.max_output > Tokens(0)) output = std::min(output, facts.max_output.value());
  const int64_t sequences = facts.n * facts.prompts;
  return {Tokens(prompt) * sequences + kUsageSlack, Tokens(output) * sequences + kUsageSlack};
}

bool KeepPossible(UsageCheck& check, Usage& usage) {
  const bool prompt = usage.prompt <= check.bounds.prompt;
  const bool output = usage.output <= check.bounds.output;
  // A cached part without a prompt is no contradiction.
  const bool cached = usage.prompt == Tokens(0) || usage.cached <= usage.prompt;
  if (!prompt) usage.prompt = Tokens(0);
  if (!output) usage.output = Tokens(0);
  if (!prompt || !cached) usage.cached = Tokens(-1);
  check.failed = check.failed || !prompt || !output || !cached;
  return output;
}

}  // namespace penstock
