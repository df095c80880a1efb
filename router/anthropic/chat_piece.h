// The chats of engines, as far as a message of Anthropic's dialect has a place for them. Pure and thread-safe.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_CHAT_PIECE_H_
#define PENSTOCK_ROUTER_ANTHROPIC_CHAT_PIECE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/dialect/usage.h"

namespace penstock::anthropic {

// A call of a tool in a chunk or a whole chat. Raw JSON but for `arguments`, which is the inside of a string, or an
// object.
struct ToolCall {
  int64_t index = 0;
  absl::string_view id;
  absl::string_view name;
  absl::string_view arguments;
  bool object = false;
};

// One chunk of a stream, or a whole chat. Raw values, or the insides of strings.
struct ChatPiece {
  absl::string_view id;     // With its quotes.
  absl::string_view model;  // With its quotes.
  absl::string_view text;
  std::vector<absl::string_view> more_text;  // Further parts of content that is a list.
  absl::string_view refusal;                 // A text in place of the answer.
  absl::string_view thinking;
  std::vector<ToolCall> calls;
  std::string finish;
  absl::string_view stop;  // The stop string that ended it, with its quotes.
  std::optional<Usage> usage;
  bool chosen = false;  // It has the first choice.
  bool error = false;
};

// False: it is no JSON object, or one of its lists is longer than kMostListed. The views point into `json`.
bool ReadChatPiece(absl::string_view json, ChatPiece* piece);

}  // namespace penstock::anthropic

#endif  // PENSTOCK_ROUTER_ANTHROPIC_CHAT_PIECE_H_
