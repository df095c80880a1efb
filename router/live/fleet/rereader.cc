#include "router/live/fleet/rereader.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/engines/contract/renewed.h"
#include "base/clock.h"
#include "router/fleet/discovery_text.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

asio::awaitable<absl::StatusOr<Discovery>> FindFacts(const ReplicaConfig& config, UpstreamPool& pool,
                                                     const EngineDeclaration* engine) {
  if (engine == nullptr) {
    const auto recognised = co_await RecogniseEngine(config, pool);
    if (!recognised.ok()) co_return recognised.status();
    engine = *recognised;
  }
  EngineScraper scraper(*engine);
  co_return co_await scraper.Discover(pool, config.key);
}

}  // namespace

asio::awaitable<absl::StatusOr<const EngineDeclaration*>> RecogniseEngine(const ReplicaConfig& config,
                                                                          UpstreamPool& pool) {
  if (const EngineDeclaration* configured = EngineByName(config.engine)) co_return configured;
  co_return co_await DetectEngine(pool, config.key);
}

void Rereader::MayBegin(const std::shared_ptr<WatchedReplica>& watched) {
  if (watched->stopped || !watched->discovered || watched->rereading.under_way || !watched->rereading.times.Due(Now()))
    return;
  const bool recognise = watched->rereading.times.recognise();
  watched->rereading.times.OnReread(Now(), book_.config().poll.interval);
  watched->rereading.under_way = true;
  control_.connections().EnterGuest();
  asio::co_spawn(control_.io(), Read(watched, recognise), asio::detached);
}

asio::awaitable<void> Rereader::Read(std::shared_ptr<WatchedReplica> watched, bool recognise) {
  const int discoveries = watched->rereading.discoveries;
  std::shared_ptr<UpstreamPool> pool = watched->pool;
  const EngineDeclaration* engine = recognise ? nullptr : &watched->scraper->engine();
  auto found = co_await FindFacts(watched->config, *pool, engine);
  watched->rereading.under_way = false;
  // A discovery behind this reading knows better.
  const bool current = !watched->stopped && watched->discovered && watched->rereading.discoveries == discoveries;
  if (current && !absl::IsResourceExhausted(found.status())) Take(*watched, std::move(found));
  pool.reset();
  control_.connections().LeaveGuest();
}

void Rereader::Take(WatchedReplica& watched, absl::StatusOr<Discovery> found) {
  const Discovery& known = *book_.discovery(watched.id);
  Telemetry& telemetry = *control_.edge().telemetry;
  if (found.ok() && found->models.empty() && !known.models.empty()) {
    found = absl::InvalidArgumentError("it lists no model");
  }
  if (!found.ok()) {
    telemetry.OnReread(watched.config.id, Reread::kFailed);
    // An engine that answers with other pages may be of another kind.
    if (!absl::IsUnavailable(found.status())) watched.rereading.times.OnUnreadable();
    if (std::exchange(watched.rereading.failed, true)) return;
    return tell_(watched, false, absl::StrCat("models cannot be read again: ", found.status().message()));
  }
  watched.rereading.failed = false;
  Discovery facts = Renewed(known, *std::move(found));
  if (facts == known) return telemetry.OnReread(watched.config.id, Reread::kSame);
  telemetry.OnReread(watched.config.id, Reread::kChanged);
  watched.scraper = std::make_shared<EngineScraper>(EngineOf(facts.kind), facts);
  book_.SetDiscovery(watched.id, std::move(facts));
  const Discovery& now = *book_.discovery(watched.id);
  tell_(watched, true,
        absl::StrCat("engine changed: ", DiscoveryText(now, book_.fleet().replicas[watched.id.value()])));
}

}  // namespace penstock
