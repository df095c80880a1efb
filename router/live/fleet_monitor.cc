#include "router/live/fleet_monitor.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/engines/scrape/engine_scraper.h"
#include "base/clock.h"
#include "router/fleet/discovery_text.h"

namespace penstock {
namespace asio = boost::asio;
namespace {

// An engine that cannot be recognised by its url is looked at again this often.
constexpr Duration kBadUrlPause = Duration::Seconds(5);

}  // namespace

struct FleetMonitor::Watched {
  Watched(EventLoop& loop, ReplicaId the_id, std::string the_name, std::string the_key)
      : id(the_id), name(std::move(the_name)), key(std::move(the_key)), health(Now()), pause(loop.io()) {}

  const ReplicaId id;
  const std::string name;
  const std::string key;
  std::string engine;
  std::optional<EngineTlsConfig> tls_config;
  std::optional<UpstreamAddress> address;
  TlsContext::Pointer tls;
  std::unique_ptr<UpstreamPool> pool;
  std::optional<EngineScraper> scraper;
  HealthTracker health;
  std::optional<Health> known;  // The health that the core has been given.
  std::shared_ptr<std::atomic<bool>> wants_answers = std::make_shared<std::atomic<bool>>(true);
  asio::steady_timer pause;
  bool discovered = false;  // Since it was last lost.
  bool lost_logged = false;
  bool stopped = false;
};

FleetMonitor::FleetMonitor(EventLoop& control, std::vector<EventLoop*> loops, const Config& config, UrlOf url_of)
    : control_(control), loops_(std::move(loops)), url_of_(std::move(url_of)), book_(config) {}

FleetMonitor::~FleetMonitor() = default;

void FleetMonitor::Start() {
  Publish({});
  StartWatching();
}

void FleetMonitor::Reload(const Config& config, std::function<void()> published) {
  if (stopped_) return published();
  std::vector<ReplicaId> changed;
  book_.Update(config);
  for (const auto& [id, watched] : watched_) {
    const ReplicaConfig& replica = book_.replica_config(id);
    if (book_.removed(id) || watched->key != replica.key || watched->engine != replica.engine ||
        watched->tls_config != replica.tls)
      changed.push_back(id);
  }
  for (ReplicaId id : changed) {
    StopWatching(id);
    // Before the loops: what the core would still send there, they could not deliver.
    control_.edge().core->Submit(ReplicaHealth{id, book_.removed(id) ? Health::kDraining : Health::kDown});
  }
  Publish({}, std::move(published));
  StartWatching();
  CountUp();
  for (const auto& entry : watched_) Judge(*entry.second);
}

void FleetMonitor::Stop() {
  stopped_ = true;
  while (!watched_.empty()) StopWatching(watched_.begin()->first);
}

void FleetMonitor::StopWatching(ReplicaId replica) {
  const auto found = watched_.find(replica);
  if (found == watched_.end()) return;
  found->second->stopped = true;
  found->second->pause.cancel();
  watched_.erase(found);
}

void FleetMonitor::StartWatching() {
  for (size_t i = 0; i < book_.fleet().replicas.size(); ++i) {
    const ReplicaId id(static_cast<uint32_t>(i));
    if (book_.removed(id) || watched_.contains(id)) continue;
    const ReplicaConfig& config = book_.replica_config(id);
    auto watched = std::make_shared<Watched>(control_, id, config.id, config.key);
    watched->engine = config.engine;
    watched->tls_config = config.tls;
    Connect(*watched);
    watched_[id] = watched;
    control_.connections().EnterGuest();
    asio::co_spawn(control_.io(), Watch(std::move(watched)), asio::detached);
  }
}

// Without a pool it is never reached, and the log says why.
void FleetMonitor::Connect(Watched& watched) {
  auto address = ParseUpstreamUrl(url_of_(book_.replica_config(watched.id)));
  if (!address.ok()) return LogLost(watched, address.status());
  UpstreamPool::Options options;
  if (address->tls) {
    const EngineTlsConfig given = watched.tls_config.value_or(EngineTlsConfig());
    auto tls = TlsContext::ForClient(given.ca.text, TlsIdentity{given.certificate.text, given.key.text});
    if (!tls.ok()) return LogLost(watched, tls.status());
    watched.tls = options.tls = *std::move(tls);
    options.server_name = given.server_name;
  }
  watched.address = *address;
  watched.pool = std::make_unique<UpstreamPool>(control_.io(), *std::move(address), std::move(options));
}

asio::awaitable<void> FleetMonitor::Watch(std::shared_ptr<Watched> watched) {
  while (!watched->stopped) {
    if (watched->pool != nullptr) co_await Round(*watched);
    if (watched->stopped) break;
    Judge(*watched);
    Duration pause = book_.config().poll.interval;
    if (watched->health.probing_needed()) {
      pause = std::max(Duration::Milliseconds(1), watched->health.next_probe() - Now());
    }
    watched->pause.expires_after(ToChrono(watched->pool != nullptr ? pause : kBadUrlPause));
    co_await watched->pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  watched->pool.reset();
  control_.connections().LeaveGuest();
}

asio::awaitable<void> FleetMonitor::Round(Watched& watched) {
  // Two statements: g++ 12 destroys the wrong coroutine of a conditional expression.
  absl::Status status;
  if (watched.discovered) {
    status = co_await Poll(watched);
  } else {
    status = co_await Discover(watched);
  }
  if (absl::IsResourceExhausted(status)) watched.health.OnPostponed(Now());
  if (watched.stopped || absl::IsResourceExhausted(status)) co_return;
  const bool was_down = watched.health.probing_needed();
  watched.health.OnProbe(Now(), status.ok());
  if (watched.discovered) control_.edge().telemetry->OnEnginePoll(watched.name, status.ok());
  if (!status.ok()) LogLost(watched, status);
  if (!was_down && watched.health.probing_needed()) watched.discovered = false;
}

asio::awaitable<absl::Status> FleetMonitor::Discover(Watched& watched) {
  const EngineDeclaration* engine = EngineByName(watched.engine);
  if (engine == nullptr) {
    const auto detected = co_await DetectEngine(*watched.pool, watched.key);
    if (!detected.ok()) co_return detected.status();
    engine = *detected;
  }
  if (!watched.scraper || &watched.scraper->engine() != engine) watched.scraper.emplace(*engine);
  auto discovery = co_await watched.scraper->Discover(*watched.pool, watched.key);
  if (!discovery.ok()) co_return discovery.status();
  if (watched.stopped) co_return absl::CancelledError("stopped");
  watched.discovered = true;
  watched.lost_logged = false;
  book_.SetDiscovery(watched.id, *std::move(discovery));
  Notice(watched, DiscoveryText(*book_.discovery(watched.id), book_.fleet().replicas[watched.id.value()]));
  Publish({});
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> FleetMonitor::Poll(Watched& watched) {
  const Instant before = Now();
  const auto seen = co_await watched.scraper->Poll(*watched.pool, watched.key);
  if (!seen.ok()) co_return seen.status();
  if (watched.stopped) co_return absl::CancelledError("stopped");
  watched.health.SetSleeping(seen->sleeping);
  double used_share = seen->kv_used_share;
  const std::optional<Tokens> configured = book_.replica_config(watched.id).kv_tokens;
  if (configured && configured->value() > 0 && seen->kv_used_tokens >= 0) {
    used_share = static_cast<double>(seen->kv_used_tokens) / configured->AsDouble();
  }
  control_.edge().core->Submit(
      EngineReport{watched.id, before, used_share, seen->running, seen->waiting, seen->preemptions});
  co_return absl::OkStatus();
}

// Tells the core what changed.
void FleetMonitor::Judge(Watched& watched) {
  watched.health.SetDraining(book_.replica_config(watched.id).drain);
  const Health health = watched.health.health();
  watched.wants_answers->store(health != Health::kUp, std::memory_order_relaxed);
  if (watched.known == health) return;
  const bool announced = std::exchange(watched.known, health).has_value();
  // A replica counts as up once the core knows it: /readyz promises that a request would be placed.
  if (health == Health::kDown || health == Health::kDraining) CountUp();
  Publish({ReplicaHealth{watched.id, health}});
  if (health == Health::kUp) {
    Notice(watched, "replica is up");
  } else if (announced) {
    Notice(watched, health == Health::kDown       ? "replica is down"
                    : health == Health::kDraining ? "replica drains"
                                                  : "replica is on probation");
  }
}

void FleetMonitor::CountUp() {
  int up = 0;
  for (const auto& [id, watched] : watched_) {
    if (watched->known == Health::kUp || watched->known == Health::kProbing) ++up;
  }
  control_.edge().replicas_up.store(up, std::memory_order_relaxed);
}

void FleetMonitor::OnNews(ReplicaId replica, EngineNews news) {
  const auto found = watched_.find(replica);
  if (found == watched_.end()) return;
  Watched& watched = *found->second;
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
  }
  if (watched.health.probing_needed()) {
    watched.discovered = false;
    watched.pause.cancel();
  }
  Judge(watched);
  // A failure counts until an answer says otherwise.
  if (news != EngineNews::kAnswer) watched.wants_answers->store(true, std::memory_order_relaxed);
}

void FleetMonitor::LogLost(Watched& watched, const absl::Status& status) {
  if (std::exchange(watched.lost_logged, true)) return;
  control_.edge().telemetry->OnEngineError(watched.name, EngineErrorKind::kConnect);
  Notice(watched, absl::StrCat("engine does not answer: ", status.message()));
}

void FleetMonitor::Notice(const Watched& watched, std::string message) {
  if (control_.edge().log == nullptr) return;
  DecisionEntry entry;
  entry.replica = watched.name;
  entry.message = std::move(message);
  control_.edge().log->Write(std::move(entry));
}

void FleetMonitor::Publish(std::vector<Event> then, std::function<void()> published) {
  const std::shared_ptr<const FleetView> view = MakeView();
  control_.edge().telemetry->SetFleet(view->book.fleet());
  auto left = std::make_shared<std::atomic<size_t>>(loops_.size());
  const auto arrived = [this, view, left, then = std::move(then), published = std::move(published)] {
    if (left->fetch_sub(1) != 1) return;
    asio::post(control_.io(), [this, view, then, published] {
      control_.edge().core->Submit(FleetChanged{view->book.fleet()});
      for (const Event& event : then) control_.edge().core->Submit(event);
      CountUp();
      if (published) published();
    });
  };
  for (EventLoop* loop : loops_) loop->PostFleet(view, arrived);
}

std::shared_ptr<const FleetView> FleetMonitor::MakeView() const {
  auto view = std::make_shared<FleetView>(book_);
  const Fleet& fleet = book_.fleet();
  view->models.resize(fleet.models.size());
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    view->engines.push_back(AccessTo(ReplicaId(static_cast<uint32_t>(i))));
    const EngineAccess& access = view->engines.back();
    const ReplicaSpec& spec = fleet.replicas[i];
    const uint32_t pool = spec.pools.empty() ? 0 : spec.pools.front().pool.value() + 1;
    view->progress_group.push_back(pool != 0 ? pool : static_cast<uint32_t>(fleet.pools.size() + 1 + i));
    if (!spec.removed) NoteModels(*view, spec.models, access.capabilities);
  }
  return view;
}

EngineAccess FleetMonitor::AccessTo(ReplicaId replica) const {
  EngineAccess access;
  const auto found = watched_.find(replica);
  access.name = book_.fleet().replicas[replica.value()].name;
  if (found == watched_.end()) return access;
  const Watched& watched = *found->second;
  access.key = watched.key;
  access.address = watched.address;
  access.tls = watched.tls;
  if (watched.tls_config) access.server_name = watched.tls_config->server_name;
  if (watched.scraper) access.capabilities = watched.scraper->engine().capabilities;
  access.wants_answers = watched.wants_answers;
  for (const PoolShare& share : book_.fleet().replicas[replica.value()].pools) {
    if (book_.fleet().pools[share.pool.value()].overflow_fatal) access.overflow_fatal = true;
  }
  return access;
}

}  // namespace penstock
