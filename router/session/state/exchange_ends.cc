#include "router/session/state/exchange_ends.h"

namespace penstock {
namespace {

AttemptEnd CountedShortage(const SessionState& state) {
  state.loop.edge().telemetry->OnTurnedAway(TurnedAway::kLocalResources);
  return RouterShort();
}

}  // namespace

AttemptEnd ClientTakesNoMore(const Client& client) {
  const std::string unfit = client.unfit();
  if (unfit.empty() || client.gone()) return EndedBy(AttemptEnd::Kind::kClientGone);
  AttemptEnd end = EngineFailed(EngineErrorKind::kGarbage, unfit);
  // The same engine would say the same again, and the client may have a part.
  end.hopeless = true;
  return end;
}

AttemptEnd SaidByEngine(const SessionState& state, const EngineError& error, bool in_stream, bool resume_due) {
  if (SaysAsleep(error) && state.fleet->book.fleet().replicas[state.replica().value()].sleep) {
    state.loop.edge().report(state.replica(), EngineNews::kModelAsleep);
    return EngineFailed(EngineErrorKind::kAsleep, "The model was put to sleep under the request.", error.message);
  }
  if (!in_stream && DeniesModel(error)) state.loop.edge().report(state.replica(), EngineNews::kModelDenied);
  return EngineSaid(error, in_stream, resume_due);
}

AttemptEnd ReadFailed(const SessionState& state, const Ticket& ticket, const absl::Status& status,
                      absl::string_view message, bool in_body) {
  if (auto interrupted = Interruption(state.client(), ticket).End()) return *std::move(interrupted);
  if (absl::IsResourceExhausted(status)) return CountedShortage(state);
  if (state.given_up) return EngineFailed(*state.given_up, "The engine does not work any more.", status.message());
  const EngineErrorKind kind = ReadErrorKind(status, in_body);
  AttemptEnd end = EngineFailed(kind, message, status.message());
  // An answer that takes too long in all is no fault of its last engine.
  end.engine_at_fault = !(kind == EngineErrorKind::kTimeout && Now() >= state.answer_deadline);
  return end;
}

std::optional<AttemptEnd> SendFailed(const SessionState& state, const Ticket& ticket, const UpstreamExchange& exchange,
                                     const absl::Status& sent) {
  if (auto interrupted = Interruption(state.client(), ticket).End()) return interrupted;
  if (absl::IsResourceExhausted(sent)) return CountedShortage(state);
  if (state.given_up) return EngineFailed(*state.given_up, "The engine does not work any more.");
  if (sent.ok()) return std::nullopt;
  if (!exchange.connected()) {
    return EngineFailed(EngineErrorKind::kConnect, "The engine cannot be reached.", sent.message());
  }
  const EngineErrorKind kind = absl::IsDeadlineExceeded(sent) ? EngineErrorKind::kTimeout : EngineErrorKind::kClosed;
  return EngineFailed(kind, "The engine did not take the whole request.", sent.message());
}

}  // namespace penstock
