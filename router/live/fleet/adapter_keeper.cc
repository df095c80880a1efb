#include "router/live/fleet/adapter_keeper.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/engines/contract/renewed.h"
#include "backends/engines/scrape/engine_scraper.h"
#include "base/clock.h"
#include "router/fleet/known_replica.h"
#include "router/fleet/sleep_plan.h"
#include "router/live/fleet/notice.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

const SleepVerbs kNoSleep{};

}  // namespace

void AdapterKeeper::Order(const std::shared_ptr<WatchedReplica>& watched, const LoadAdapter& order) {
  // A reading that is under way may be older than the load.
  ++watched->rereading.discoveries;
  control_.connections().EnterGuest();
  watched->work.Spawn(control_.io(), Load(watched, order));
}

void AdapterKeeper::Stop(ReplicaId replica) {
  const auto found = under_way_.find(replica);
  if (found != under_way_.end()) found->second->Stop();
}

asio::awaitable<void> AdapterKeeper::Load(std::shared_ptr<WatchedReplica> watched, LoadAdapter order) {
  const auto leave = absl::MakeCleanup([&watched, &control = control_] {
    watched.reset();
    control.connections().LeaveGuest();
  });
  const Instant began = Now();
  const std::vector<ModelId>& offered = book_.fleet().replicas[watched->id.value()].adapters.on_demand;
  // A reload may have dropped it. While this view lives, its id is given to no other model.
  const bool known = std::find(offered.begin(), offered.end(), order.model) != offered.end();
  const std::shared_ptr<const FleetView> names_it = control_.fleet();
  VerbEnd end{VerbFault::kUnable, "its engine has no requests for it, or is not known"};
  bool read = false;
  if (known && watched->pool != nullptr && watched->discovered && !watched->stopped()) {
    end = co_await Ask(*watched, order);
    if (!watched->stopped()) read = co_await ReadModels(*watched);
  }
  if (!watched->stopped()) {
    const bool listed = Lists(watched->id, book_.EngineModelName(watched->id, order.model));
    if (read && end.ok() && !listed) end = {VerbFault::kUnchanged, "the engine took the request, but does not list it"};
    Tell(*watched, order, end, read ? listed : end.ok(), std::max(Duration::Milliseconds(1), Now() - began));
  }
}

asio::awaitable<VerbEnd> AdapterKeeper::Ask(WatchedReplica& watched, LoadAdapter order) {
  const AdapterVerbs verbs = watched.scraper->engine().adapter_verbs;
  if (verbs.load == nullptr) co_return VerbEnd{VerbFault::kUnable, "its engine has no requests for it"};
  const Duration timeout = book_.fleet().replicas[watched.id.value()].adapters.timeout;
  const std::shared_ptr<UpstreamPool> pool = watched.pool;
  EngineVerbs requests(control_.io(), *pool, watched.config.key, kNoSleep, SleepTarget());
  under_way_[watched.id] = &requests;
  const auto forget = absl::MakeCleanup([this, &requests, replica = watched.id] {
    const auto own = under_way_.find(replica);
    if (own != under_way_.end() && own->second == &requests) under_way_.erase(own);
  });
  if (order.instead_of) {
    VerbRequest unload = verbs.unload(book_.EngineModelName(watched.id, *order.instead_of));
    const VerbEnd unloaded = co_await requests.Post(std::move(unload), timeout);
    if (!unloaded.ok()) {
      LogWarning(control_.edge(), watched.config.id, absl::StrCat("adapter was not unloaded: ", unloaded.message));
    }
  }
  VerbRequest load = verbs.load(book_.EngineModelName(watched.id, order.model), book_.WordsOf(order.model).root);
  co_return co_await requests.Post(std::move(load), timeout);
}

asio::awaitable<bool> AdapterKeeper::ReadModels(WatchedReplica& watched) {
  const std::shared_ptr<UpstreamPool> pool = watched.pool;
  EngineScraper scraper(watched.scraper->engine());
  const int discoveries = watched.rereading.discoveries;
  auto found = co_await scraper.Discover(*pool, watched.config.key);
  if (!found.ok() || found->models.empty() || watched.stopped()) co_return false;
  // A discovery behind this reading knows better.
  const bool current = watched.discovered && watched.rereading.discoveries == discoveries;
  if (!current || !book_.known(watched.id).discovery) co_return false;
  ++watched.rereading.discoveries;
  FitModels(book_.config(), book_.replica_config(watched.id), *found);
  const Discovery known = *book_.known(watched.id).discovery;
  Discovery facts = Renewed(known, *std::move(found));
  if (facts == known) co_return true;
  watched.scraper = std::make_shared<EngineScraper>(EngineOf(facts.kind), facts);
  book_.SetDiscovery(watched.id, std::move(facts));
  co_return true;
}

bool AdapterKeeper::Lists(ReplicaId replica, const std::string& name) const {
  const std::optional<Discovery>& found = book_.known(replica).discovery;
  return found && std::any_of(found->models.begin(), found->models.end(),
                              [&name](const ServedModel& model) { return model.name == name; });
}

bool AdapterKeeper::KeepsAdaptersOut(ReplicaId replica) const {
  if (book_.RanksOf(replica).size() < 2) return false;
  const std::string base = BaseModel(book_.config(), book_.known(replica));
  const std::vector<AdapterConfig>& adapters = book_.config().adapters;
  return std::any_of(adapters.begin(), adapters.end(), [&](const AdapterConfig& adapter) {
    return CanonicalName(book_.config(), adapter.model) == base;
  });
}

void AdapterKeeper::LogLeftOut(const WatchedReplica& watched) const {
  const std::string& name = watched.config.id;
  const size_t models = book_.known(watched.id).discovery->models_beyond;
  if (models > 0)
    LogWarning(control_.edge(), name, absl::StrCat("engine lists too many models: the last ", models, " are left out"));
  if (KeepsAdaptersOut(watched.id))
    LogWarning(control_.edge(), name, "engine has ranks: it is not asked to load the adapters of the configuration");
}

std::vector<Event> AdapterKeeper::FactsOf(ReplicaId replica) const {
  std::vector<Event> events;
  for (const ModelId model : book_.fleet().replicas[replica.value()].adapters.on_demand) {
    const bool loaded = Lists(replica, book_.EngineModelName(replica, model));
    events.emplace_back(AdapterResidency{replica, model, loaded, false, Duration()});
  }
  return events;
}

void AdapterKeeper::Tell(const WatchedReplica& watched, const LoadAdapter& order, const VerbEnd& end, bool loaded,
                         Duration took) {
  const std::string& adapter = book_.fleet().models[order.model.value()].name;
  const VerbFault fault = loaded ? VerbFault::kNone : end.fault;
  control_.edge().telemetry->engines().OnAdapterLoad(watched.config.id, static_cast<SleepResult>(fault), took);
  if (loaded) {
    LogNotice(control_.edge(), watched.config.id,
              absl::StrFormat("adapter %s was loaded after %.3f s", adapter, took.seconds()));
  } else {
    LogWarning(control_.edge(), watched.config.id, absl::StrCat("adapter ", adapter, " was not loaded: ", end.message));
  }
  std::vector<Event> events = FactsOf(watched.id);
  events.emplace_back(AdapterResidency{watched.id, order.model, loaded, !loaded, took});
  publish_(std::move(events));
}

}  // namespace penstock
