// The progress of one request's answer, over all of its attempts. Pure; one owner.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_RELAY_STATE_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_RELAY_STATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/usage.h"
#include "base/token_counter.h"
#include "router/openai/answer/chunk_rewrite.h"
#include "router/openai/answer/delivered_text.h"
#include "router/openai/answer/message_blocks.h"
#include "router/openai/answer/usage_check.h"

namespace penstock {

// The tokens that were relayed, over the attempts that count, and the events with text of the present one.
struct RelayedTokens {
  TokenCounter counter;
  double per_event = 1;  // As far as is known; the caller sets it before the first event.
  int64_t events = 0;
  double more = 0;          // Tokens beyond one per event that are not counted yet.
  int64_t before = 0;       // Counted when the last attempt ended.
  bool miscounted = false;  // The engine's own count of the delivered text was another.
  // The tokens of that text in the prompt of the present attempt, where its engine counted them.
  std::optional<int64_t> in_prompt;
  std::optional<Tokens> prompt;  // The prompt before that text, as that engine counts it.
};

// The form of the answer that the client has; a continuation keeps it.
struct ShownAnswer {
  std::optional<ChunkNames> names;  // Those of the first chunk.
  MessageBlocks message;            // Anthropic's dialect.
};

// The progress of one request's answer.
struct RelayState {
  RelayedTokens relayed;
  int64_t delivered = 0;    // Tokens that the client has, by its events, over all attempts.
  int64_t unseen = 0;       // Tokens that it has beyond those, as an engine counted them.
  DeliveredText text;       // The client's part of the text, if a continuation could ever need it.
  bool other_text = false;  // It has reasoning, tool calls or the like, which no longer prompt can repeat.
  std::string early;        // Events without content that came before any other; they are written with the first.
  ShownAnswer shown;
  bool resumed = false;        // The present attempt goes on with an answer that the client has part of.
  std::string overlap;         // White space that the client has and the present attempt's prompt has not.
  int64_t carried = 0;         // Tokens of the client's that the present attempt goes on from.
  std::optional<Usage> usage;  // The usage of the whole answer, as far as its counts are possible.
  UsageCheck usage_check;
  std::optional<Usage> reported;  // The first attempt's, where its engine reported the prompt early.
  bool usage_sent = false;
  std::string finish_reason;

  // Prepares another attempt: from the start, or from the delivered text. With `trimmed`, the engine's template cuts
  // white space off the end of the text that it continues.
  void Restart(bool keep_delivered, bool trimmed);
  // The tokens of PromptText(), as the engine of the present attempt counts them. An event has a token at least.
  void CountText(Tokens tokens);
  // No engine counts PromptText(): its events have so many tokens as those of earlier answers of their engine had. An
  // estimate leaves one token of the limit. `limit` zero: there is none.
  void EstimateText(Tokens limit);
  // Tokens that the client has, as far as they are known.
  int64_t client_tokens() const { return delivered + unseen; }
  // The delivered text without that white space; for the present attempt's prompt, before it gives any event.
  absl::string_view PromptText() const { return text.text().substr(0, text.text().size() - overlap.size()); }
  // Takes off the content what the client has already.
  absl::string_view WithoutOverlap(absl::string_view content);
  int64_t generated() const { return relayed.counter.generated(); }
  // The length of the answer so far: of its usage, else as counted.
  Tokens output() const { return usage && usage->output > Tokens(0) ? usage->output : Tokens(generated()); }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_RELAY_STATE_H_
