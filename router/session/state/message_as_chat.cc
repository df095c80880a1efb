#include "router/session/state/message_as_chat.h"

#include <memory>

#include "router/live/loop_turn.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

anthropic::ChatOrder OrderOf(const SessionState& state, const SpliceOrder& order) {
  anthropic::ChatOrder chat;
  chat.model = order.engine_model.empty() ? state.facts().model : order.engine_model;
  chat.stream = state.facts().stream;
  chat.continues = state.engine().capabilities->continues_final_message;
  chat.continue_from = order.continue_from;
  chat.already_generated = order.already_generated.value();
  return chat;
}

AttemptEnd Untranslatable(const ApiError& error) {
  AttemptEnd end = EndedBy(AttemptEnd::Kind::kRejected);
  end.error = std::make_unique<ApiError>(error);
  return end;
}

}  // namespace

bool MessageAsChat::Needed(const SessionState& state) {
  const EngineAccess& engine = state.engine();
  if (state.request.endpoint != Endpoint::kMessages || !engine.capabilities->endpoints.Has(Endpoint::kChat))
    return false;
  if (!engine.capabilities->endpoints.Has(Endpoint::kMessages)) return true;
  if (engine.notes && engine.notes->lacks_messages.load(std::memory_order_relaxed)) return true;
  return state.answer.carried > 0 && !engine.capabilities->continues_messages;
}

void MessageAsChat::NoteMissing(const SessionState& state) {
  const EngineAccess& engine = state.engine();
  if (state.request.endpoint == Endpoint::kMessages && engine.notes) {
    engine.notes->lacks_messages.store(true, std::memory_order_relaxed);
  }
}

MessageAsChat::MessageAsChat(SessionState& state, const SpliceOrder& order)
    : state_(state), chat_(state.request.body, OrderOf(state, order)), memory_(state) {}

asio::awaitable<std::optional<AttemptEnd>> MessageAsChat::Plan() {
  while (!chat_.Advance()) {
    if (!memory_.Hold(chat_.size())) co_return NoRoomForAnswer(state_);
    co_await LetOthersRun(state_.loop.io());
    if (state_.client().gone()) co_return EndedBy(AttemptEnd::Kind::kClientGone);
  }
  if (chat_.error()) co_return Untranslatable(*chat_.error());
  if (!memory_.Hold(chat_.size())) co_return NoRoomForAnswer(state_);
  co_return std::nullopt;
}

}  // namespace penstock
