// A request in Anthropic's dialect as one for /v1/chat/completions, for engines that lack the dialect.
//
// Advance() reads the body and plans the other one in slices, so neither long images nor many turns hold a loop. Long
// texts and images stay views of the client's body. What a chat cannot say is an error that names the field. Members
// that only a provider reads are left out: cache marks, service tiers, edits of the context. Pure; the client's body
// and the order's text outlive it.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_CHAT_REQUEST_H_
#define PENSTOCK_ROUTER_ANTHROPIC_CHAT_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/anthropic/piece_list.h"
#include "router/anthropic/turn_fields.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/json_walk.h"

namespace penstock::anthropic {

// The facts that the body does not have.
struct ChatOrder {
  std::string model;
  bool stream = false;
  bool continues = false;  // The engine can go on with a last message of the assistant.
  // Text of the answer that the client already has, as the inside of a JSON string.
  std::optional<absl::string_view> continue_from;
  int64_t already_generated = 0;  // Taken off the limit of the output.
};

class ChatRequest {
 public:
  static constexpr size_t kSlice = 64 << 10;
  // Most bytes of one tool, of the input of one call, and of one setting: each is read in one step.
  static constexpr size_t kLongestPart = 256 << 10;

  ChatRequest(absl::string_view body, ChatOrder order)
      : order_(std::move(order)), walk_(body), fields_(body), out_(body) {}

  // Goes on for a slice. True: it is done, or there is an error.
  bool Advance(size_t slice = kSlice);
  const std::optional<ApiError>& error() const { return error_; }
  // The memory that the other body takes so far.
  size_t size() const { return out_.size(); }
  // The other body, once it is done: views into this and into the client's body.
  std::vector<absl::string_view> Pieces() const { return out_.Pieces(); }

 private:
  // A line break, as it stands in a string.
  static constexpr absl::string_view kBetweenLines = "\\n";

  enum class Stage : uint8_t { kRead, kTurns, kTools, kDone };

  bool IsText(JsonSpan span) const { return span.size() > 1 && fields_.ValueIn(span).kind() == JsonKind::kString; }
  // The first problem counts.
  void Refuse(ErrorName name, absl::string_view field, absl::string_view problem);
  // The name of a block's member, for errors. No turn: the block is one of the system prompt.
  std::string Name(const Turn* turn, size_t block, absl::string_view member) const;

  void Read(size_t slice);
  void Begin();
  void AddSystem();
  // True: a block of them has a member that its type has not, or there was an error before.
  bool AnyStray(const Turn* turn, size_t begin, size_t end);
  // The texts of these blocks as one, without quotes and with `between` in between. Blocks of other kinds are left out.
  void AddTexts(const Turn* turn, size_t begin, size_t end, bool inner, absl::string_view between);
  // The same where blocks of other kinds would be lost.
  void AddOnlyTexts(const Turn* turn, size_t begin, size_t end, absl::string_view between);
  void AddTurn(const Turn& turn);
  void AddAssistant(const Turn& turn);
  void AddUser(const Turn& turn);
  void AddResult(const Turn& turn, size_t block);
  // An image or a document, as a part of a chat's content.
  void AddMedia(const Turn& turn, size_t block);
  void AddTool(const JsonValue& tool);
  void AddToolChoice();
  void AddThinking();
  void AddSettings();
  void AddFormat();
  void AddEnd();

  const ChatOrder order_;
  JsonWalk walk_;
  TurnFields fields_;
  PieceList out_;
  std::optional<ApiError> error_;
  Stage stage_ = Stage::kRead;
  size_t turn_ = 0;  // The next to plan.
  bool any_turn_ = false;
  bool ends_with_assistant_ = false;
  std::optional<JsonArray> tools_;
  size_t tool_ = 0;  // The next to plan.
};

}  // namespace penstock::anthropic

#endif  // PENSTOCK_ROUTER_ANTHROPIC_CHAT_REQUEST_H_
