// The request of a message of Anthropic's dialect, for an engine that gets it as a chat.
//
// Such an engine lacks the dialect, or goes on with a cut answer in chats only. The body is translated in slices. Lives
// in the coroutine of an attempt, until the engine has the request. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_MESSAGE_AS_CHAT_H_
#define PENSTOCK_ROUTER_SESSION_STATE_MESSAGE_AS_CHAT_H_

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/anthropic/chat_request.h"
#include "router/openai/request/body_splice.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/session_state.h"

namespace penstock {

class MessageAsChat {
 public:
  // The engine of the last forward gets the request as a chat.
  static bool Needed(const SessionState& state);
  // That engine answered that it lacks the path of the request.
  static void NoteMissing(const SessionState& state);

  MessageAsChat(SessionState& state, const SpliceOrder& order);
  // Translates the body. An end: a chat cannot say it, or there is no memory.
  boost::asio::awaitable<std::optional<AttemptEnd>> Plan();
  // Views into this and into the request.
  std::vector<absl::string_view> Pieces() const { return chat_.Pieces(); }

 private:
  SessionState& state_;
  anthropic::ChatRequest chat_;
  AnswerMemory memory_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_MESSAGE_AS_CHAT_H_
