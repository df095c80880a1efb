#include "router/session/switched/switched_answer.h"

#include <string>
#include <utility>

#include "router/realtime/upgrade.h"
#include "router/session/state/silent_work.h"
#include "router/telemetry/realtime_metrics.h"
#include "router/telemetry/telemetry.h"

namespace penstock {
namespace asio = boost::asio;

asio::awaitable<AttemptEnd> SwitchedAnswer::Run(std::shared_ptr<Connection> engine, HeaderList headers) {
  // The memory of the connection's thread has it until others run.
  std::string begun(engine->input());
  AddAgreement(headers);
  state_.any_answer = true;
  LentSocket client = co_await state_.client().Switch(headers);
  if (client.socket == nullptr) {
    engine->Close();
    co_return EndedBy(AttemptEnd::Kind::kClientGone);
  }
  const SilentWork silent(state_.engine().notes, &EngineNotes::owe_nothing);
  RealtimeMetrics& metrics = state_.loop.edge().telemetry->realtime();
  const RealtimeConfig& config = state_.fleet->config().realtime;
  metrics.OnOpened();
  const auto passed = [this, &metrics](uint64_t to_engine, uint64_t to_client) {
    state_.heard = Now();
    metrics.OnBytes(to_engine, to_client);
  };
  tunnel_.emplace(state_.loop, Tunnel::Side{client.socket, std::move(client.unread)},
                  Tunnel::Side{&engine->Lend(), std::move(begun)}, Tunnel::Limits{config.idle, config.time}, passed);
  if (stopped_ || state_.client().gone()) tunnel_->Stop();
  const RealtimeEnd end = co_await tunnel_->Run();
  metrics.OnEnded(end);
  co_return AttemptEnd();
}

}  // namespace penstock
