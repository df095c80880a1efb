#include "router/live/fleet/fleet_monitor.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "router/fleet/sleep_plan.h"
#include "router/live/fleet/engine_reports.h"
#include "router/live/fleet/notice.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace asio = boost::asio;
namespace {
// An engine that cannot be recognised by its url is looked at again this often.
constexpr Duration kBadUrlPause = Duration::Seconds(5);

}  // namespace

FleetMonitor::FleetMonitor(EventLoop& control, std::vector<EventLoop*> loops, const Config& config, UrlOf url_of)
    : control_(control),
      publisher_(control, std::move(loops), [this] { return departures_.Note(MakeView()); }),
      url_of_(std::move(url_of)),
      book_(config),
      departures_(control, book_, publisher_),
      patrol_(control),
      rereader_(control, book_,
                [this](const WatchedReplica& watched, bool changed, std::string notice) {
                  LogNotice(control_.edge(), watched.config.id, std::move(notice));
                  if (changed) TellFacts(*watched_.at(watched.id));
                }),
      keeper_(control, book_, publisher_, [this](const ReplicaResidency& event) { publisher_.Publish({event}); }),
      adapters_(control, book_, [this](std::vector<Event> events) { publisher_.Publish(std::move(events)); }) {}

void FleetMonitor::Start() {
  control_.edge().telemetry->SetFleet(book_.fleet());
  publisher_.Publish({});
  StartWatching();
}

void FleetMonitor::Reload(const Config& config, std::function<void()> published) {
  if (stopped_) return published();
  std::vector<ReplicaId> changed;
  book_.Update(config);
  for (const auto& [id, watched] : watched_) {
    if (book_.removed(id) || watched->Differs(book_.replica_config(id))) changed.push_back(id);
  }
  for (ReplicaId id : changed) {
    StopWatching(id);
    // Before the loops: what the core would still send there, they could not deliver.
    const Health health = book_.removed(id) ? Health::kDraining : Health::kDown;
    for (const ReplicaId rank : AllRanks(book_, id)) control_.edge().core->Submit(ReplicaHealth{rank, health});
  }
  publisher_.Publish({}, [this, published = std::move(published)] {
    departures_.Look();
    published();
  });
  for (const auto& entry : watched_) keeper_.Configure(*entry.second);
  StartWatching();
  CountUp();
  for (const auto& entry : watched_) Judge(*entry.second);
}

void FleetMonitor::Stop() {
  stopped_ = true;
  keeper_.Stop();
  while (!watched_.empty()) StopWatching(watched_.begin()->first);
}

void FleetMonitor::StopWatching(ReplicaId replica) {
  const auto found = watched_.find(replica);
  if (found == watched_.end()) return;
  found->second->work.Cut();
  keeper_.Leave(*found->second);
  adapters_.Stop(replica);
  patrol_.Forget(replica);
  departures_.Left(found->second);
  watched_.erase(found);
}

void FleetMonitor::StartWatching() {
  for (size_t i = 0; i < book_.fleet().replicas.size(); ++i) {
    const ReplicaId id(static_cast<uint32_t>(i));
    if (book_.removed(id) || book_.entry(id).first != i || watched_.contains(id)) continue;
    auto watched = std::make_shared<WatchedReplica>(control_, id, book_.replica_config(id));
    // Without a pool it is never reached, and the log says why.
    const absl::Status connected = watched->Connect(control_, url_of_(book_.replica_config(id)));
    if (!connected.ok()) LogLost(*watched, connected);
    watched_[id] = watched;
    keeper_.Configure(*watched);
    control_.connections().EnterGuest();
    CutOff& work = watched->work;
    work.Spawn(control_.io(), Watch(std::move(watched)));
  }
}

asio::awaitable<void> FleetMonitor::Watch(std::shared_ptr<WatchedReplica> watched) {
  const auto leave = absl::MakeCleanup([&watched, &control = control_] {
    watched->pool.reset();
    if (watched->sleeper) watched->sleeper->Release();
    control.connections().LeaveGuest();
  });
  while (!watched->stopped()) {
    if (watched->pool != nullptr) co_await Round(*watched);
    if (watched->stopped()) break;
    Judge(*watched);
    departures_.LookAgain(Now());
    rereader_.MayBegin(watched);
    Duration pause = book_.config().poll.interval;
    if (watched->health.probing_needed()) {
      pause = std::max(Duration::Milliseconds(1), watched->health.next_probe() - Now());
    }
    pause = SleepKeeper::PauseOf(*watched, pause);
    watched->pause.expires_after(ToChrono(watched->pool != nullptr ? pause : kBadUrlPause));
    co_await watched->pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<void> FleetMonitor::Round(WatchedReplica& watched) {
  const Instant began = Now();
  // Two statements: g++ 12 destroys the wrong coroutine of a conditional expression.
  absl::Status status;
  if (watched.discovered) {
    status = co_await Poll(watched);
  } else {
    status = co_await Discover(watched);
  }
  if (absl::IsResourceExhausted(status)) watched.health.OnPostponed(Now());
  if (watched.stopped() || absl::IsResourceExhausted(status)) co_return;
  const bool was_down = watched.health.probing_needed();
  if (!was_down && patrol_.Excuses(watched.id, status, Now())) {
    control_.edge().telemetry->engines().OnPoll(NameOf(watched), false);
    co_return;
  }
  watched.health.OnProbe(Now(), status.ok());
  co_await keeper_.AfterRound(watched, status, began);
  if (watched.stopped()) co_return;
  const bool hidden = SleepKeeper::HidesAbsence(watched);
  if (watched.discovered && !hidden) control_.edge().telemetry->engines().OnPoll(NameOf(watched), status.ok());
  if (!status.ok() && !hidden) {
    LogLost(watched, status);
    watched.rereading.times.OnFailedPoll();
  }
  if (!status.ok() && book_.SetDiscovery(watched.id, std::nullopt)) publisher_.Publish({});
  // Once per failing probe: a stream may have been heard of a moment ago.
  if (!status.ok() && watched.scraper && watched.health.probing_needed())
    publisher_.TellLost(book_.RanksOf(watched.id), EngineLoss::kHung);
  if (!was_down && watched.health.probing_needed()) watched.discovered = false;
}

asio::awaitable<absl::Status> FleetMonitor::Discover(WatchedReplica& watched) {
  const auto engine = co_await RecogniseEngine(watched.config, *watched.pool);
  if (!engine.ok()) co_return engine.status();
  watched.rereading.times.OnDiscovery(Now(), book_.config().poll.interval);
  const auto scraper = watched.scraper = std::make_shared<EngineScraper>(**engine);
  auto discovery = co_await scraper->Discover(*watched.pool, watched.config.key);
  if (!discovery.ok()) co_return discovery.status();
  if (watched.stopped()) co_return absl::CancelledError("stopped");
  watched.discovered = true;
  watched.notes->lacks_messages.store(false, std::memory_order_relaxed);
  watched.rereading.OnDiscovered();
  watched.logged.lost = false;
  FitModels(book_.config(), book_.replica_config(watched.id), *discovery);
  book_.SetDiscovery(watched.id, *std::move(discovery));
  keeper_.OnDiscovered(watched);
  LogDiscovery(control_.edge(), book_, watched.id);
  LogSeveralAddresses(control_.edge(), watched.config);
  TellFacts(watched);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> FleetMonitor::Poll(WatchedReplica& watched) {
  const Instant before = Now();
  const std::shared_ptr<EngineScraper> scraper = watched.scraper;
  const auto seen = co_await scraper->Poll(*watched.pool, watched.config.key);
  if (!seen.ok()) co_return seen.status();
  if (watched.stopped()) co_return absl::CancelledError("stopped");
  if (watched.logged.fault.empty() && !seen->fault.empty()) {
    LogWarning(control_.edge(), watched.config.id, absl::StrCat("engine lives, but load is unknown: ", seen->fault));
  }
  watched.logged.fault = seen->fault;
  watched.health.SetSleeping(watched.sleeper ? watched.sleeper->sleeps_untold() : seen->sleeping);
  if (watched.sleeper) watched.sleeper->OnLoad(std::max(seen->running, seen->waiting), seen->sleep_level);
  watched.rereading.times.OnGoodPoll(seen->tokens, seen->preemptions);
  for (const EngineReport& report : ReportsOf(book_, watched.id, *seen, before)) control_.edge().core->Submit(report);
  const ReplicaSpec& spec = book_.fleet().replicas[watched.id.value()];
  const bool hangs = patrol_.FindsHang(watched, spec, *seen, book_.config().limits.hang_after);
  if (hangs) publisher_.TellLost(book_.RanksOf(watched.id), EngineLoss::kHung);
  co_return absl::OkStatus();
}

void FleetMonitor::TellFacts(WatchedReplica& watched) {
  adapters_.LogLeftOut(watched);
  std::vector<Event> events = adapters_.FactsOf(watched.id);
  if (watched.told.health) Append(HealthOfRanks(book_, watched.id, *watched.told.health), events);
  // Before the loops: what the core would still send to a rank that is gone, they could not deliver.
  for (const ReplicaId gone : RanksGone(book_, watched.id))
    control_.edge().core->Submit(ReplicaHealth{gone, Health::kDraining});
  publisher_.Publish(std::move(events));
}

void FleetMonitor::Judge(WatchedReplica& watched) {
  watched.health.SetDraining(book_.replica_config(watched.id).drain);
  const Health health = keeper_.HealthOf(watched);
  watched.Note(health);
  if (watched.told.health == health) return;
  const bool announced = std::exchange(watched.told.health, health).has_value();
  // A replica counts as up once the core knows it: /readyz promises that a request would be placed.
  watched.told.placeable = watched.told.placeable && watched.told.TakesRequests();
  CountUp();
  publisher_.Publish(HealthOfRanks(book_, watched.id, health), [this, id = watched.id] { OnTold(id); });
  if (health == Health::kUp || announced) LogHealth(control_.edge(), watched.config.id, health);
}

void FleetMonitor::OnOrder(const LoadAdapter& order) {
  const auto found = watched_.find(order.replica);
  if (found != watched_.end()) adapters_.Order(found->second, order);
}

void FleetMonitor::OnOrder(ReplicaId replica, Verb verb, SleepLevel level) {
  const auto found = watched_.find(replica);
  if (found == watched_.end()) return;
  keeper_.Order(*found->second, verb, level);
  Judge(*found->second);
}

void FleetMonitor::OnToken(ReplicaId replica, Instant then) {
  const ReplicaId first(book_.entry(replica).first);
  patrol_.OnToken(first, then);
  const auto found = watched_.find(first);
  if (found != watched_.end() && found->second->sleeper) found->second->sleeper->OnToken(then);
}

void FleetMonitor::OnTold(ReplicaId replica) {
  const auto found = watched_.find(replica);
  if (found == watched_.end()) return;
  // A younger health may be on its way.
  found->second->told.placeable = found->second->told.TakesRequests();
  CountUp();
}

void FleetMonitor::CountUp() {
  int up = 0;
  // A prefill replica answers nobody.
  for (const auto& [id, watched] : watched_)
    up += watched->told.placeable && book_.replica_config(id).role != ReplicaRole::kPrefill ? 1 : 0;
  control_.edge().replicas_up.store(up, std::memory_order_relaxed);
}

void FleetMonitor::OnNews(ReplicaId replica, EngineNews news) {
  const auto found = watched_.find(ReplicaId(book_.entry(replica).first));
  if (found == watched_.end()) return;
  WatchedReplica& watched = *found->second;
  switch (news) {
    case EngineNews::kAnswer:
      watched.health.OnAnswer();
      break;
    case EngineNews::kConnectFailed:
      watched.health.OnConnectFailed(Now());
      break;
    case EngineNews::kBrokenAnswer:
      watched.health.OnBrokenAnswer(Now());
      break;
    case EngineNews::kModelDenied:
      return rereader_.OnModelDenied(found->second);
    case EngineNews::kModelAsleep:
      return keeper_.OnSaidAsleep(watched);
  }
  if (news != EngineNews::kAnswer) watched.rereading.times.OnTrouble();
  if (watched.health.probing_needed()) {
    watched.discovered = false;
    watched.pause.cancel();
  }
  Judge(watched);
  // A failure counts until an answer says otherwise.
  if (news != EngineNews::kAnswer) watched.notes->wants_answers.store(true, std::memory_order_relaxed);
}

void FleetMonitor::LogLost(WatchedReplica& watched, const absl::Status& status) {
  if (std::exchange(watched.logged.lost, true)) return;
  control_.edge().telemetry->engines().OnError(NameOf(watched), EngineErrorKind::kConnect);
  LogWarning(control_.edge(), watched.config.id, absl::StrCat("engine does not answer: ", WhyUnreached(status)));
}

std::shared_ptr<const FleetView> FleetMonitor::MakeView() const {
  std::vector<EngineAccess> engines;
  for (size_t i = 0; i < book_.fleet().replicas.size(); ++i) {
    const FleetEntry& entry = book_.entry(ReplicaId(static_cast<uint32_t>(i)));
    const auto found = watched_.find(ReplicaId(entry.first));
    engines.push_back(entry.removed || found == watched_.end() ? EngineAccess() : found->second->Access(entry));
  }
  return MakeFleetView(book_, std::move(engines));
}

}  // namespace penstock
