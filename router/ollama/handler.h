// Answers requests of Ollama's own API: its lists from the fleet, its chats through a session of the OpenAI dialect.
#ifndef PENSTOCK_ROUTER_OLLAMA_HANDLER_H_
#define PENSTOCK_ROUTER_OLLAMA_HANDLER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "router/session/session.h"

namespace penstock::ollama {

// `page` is the last part of a path below /api/, which MatchRoute knows. The parts of `request` are those of a session;
// its body is in Ollama's dialect. `account` pays for the memory of the translated body.
boost::asio::awaitable<void> AnswerOllama(EventLoop& loop, Client& answer, absl::string_view page,
                                          SessionRequest request, uint64_t account);

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_HANDLER_H_
