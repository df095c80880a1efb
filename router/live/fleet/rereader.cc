#include "router/live/fleet/rereader.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/engines/contract/renewed.h"
#include "base/clock.h"
#include "router/fleet/discovery_text.h"
#include "router/fleet/sleep_plan.h"
#include "router/live/fleet/sleep_keeper.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

asio::awaitable<absl::StatusOr<Discovery>> FactsBy(const EngineDeclaration& engine, const ReplicaConfig& config,
                                                   UpstreamPool& pool) {
  EngineScraper scraper(engine);
  co_return co_await scraper.Discover(pool, config.key);
}

// The facts of an engine that may be another one by now.
asio::awaitable<absl::StatusOr<Discovery>> RecognisedFacts(const EngineDeclaration& known, const ReplicaConfig& config,
                                                           UpstreamPool& pool) {
  const auto recognised = co_await RecogniseEngine(config, pool);
  if (!recognised.ok()) co_return recognised.status();
  const EngineDeclaration& engine = **recognised;
  if (engine.kind != EngineKind::kOpenAi) co_return co_await FactsBy(engine, config, pool);
  // A server without a sign may be the known one in trouble, as long as it has the pages.
  auto found = co_await FactsBy(known, config, pool);
  if (!absl::IsNotFound(found.status())) co_return found;
  co_return co_await FactsBy(engine, config, pool);
}

// The facts with the models that are missing for the first time, whose names `missed` has then. They are missing for
// good where `sure`.
Discovery WithDoubtedModels(const Discovery& known, Discovery facts, bool sure, std::vector<std::string>& missed) {
  const std::vector<std::string> before = std::exchange(missed, {});
  if (sure) return facts;
  for (ServedModel& model : Missing(known, facts)) {
    if (std::find(before.begin(), before.end(), model.name) != before.end()) continue;
    missed.push_back(model.name);
    facts.models.push_back(std::move(model));
  }
  // In the known order.
  return missed.empty() ? facts : Renewed(known, std::move(facts));
}

}  // namespace

asio::awaitable<absl::StatusOr<const EngineDeclaration*>> RecogniseEngine(const ReplicaConfig& config,
                                                                          UpstreamPool& pool) {
  if (const EngineDeclaration* configured = EngineByName(config.engine)) co_return configured;
  co_return co_await DetectEngine(pool, config.key);
}

void Rereader::OnModelDenied(const std::shared_ptr<WatchedReplica>& watched) {
  watched->rereading.times.OnModelDenied();
  MayBegin(watched);
}

void Rereader::MayBegin(const std::shared_ptr<WatchedReplica>& watched) {
  if (watched->stopped() || !watched->discovered || watched->rereading.under_way) return;
  // A sleeping engine may have no pages.
  if (book_.entry(watched->id).doubted || !watched->rereading.missed.empty()) watched->rereading.times.OnDoubt(Now());
  if (SleepKeeper::HidesAbsence(*watched) || !watched->rereading.times.Due(Now())) return;
  const bool recognise = watched->rereading.times.recognise();
  const bool denied = watched->rereading.times.denied();
  watched->rereading.times.OnReread(Now(), book_.config().poll.interval);
  watched->rereading.under_way = true;
  control_.connections().EnterGuest();
  watched->work.Spawn(control_.io(), Read(watched, recognise, denied));
}

asio::awaitable<void> Rereader::Read(std::shared_ptr<WatchedReplica> watched, bool recognise, bool denied) {
  const auto leave = absl::MakeCleanup([&control = control_] { control.connections().LeaveGuest(); });
  const int discoveries = watched->rereading.discoveries;
  const std::shared_ptr<UpstreamPool> pool = watched->pool;
  const EngineDeclaration& known = watched->scraper->engine();
  // Two statements: g++ 12 destroys the wrong coroutine of a conditional expression.
  absl::StatusOr<Discovery> found;
  if (recognise) {
    found = co_await RecognisedFacts(known, watched->config, *pool);
  } else {
    found = co_await FactsBy(known, watched->config, *pool);
  }
  watched->rereading.under_way = false;
  // A discovery behind this reading knows better.
  const bool current = !watched->stopped() && watched->discovered && watched->rereading.discoveries == discoveries;
  if (current && !absl::IsResourceExhausted(found.status())) Take(*watched, std::move(found), denied);
}

void Rereader::TakeSame(WatchedReplica& watched) {
  const ReplicaSpec& replica = book_.fleet().replicas[watched.id.value()];
  control_.edge().telemetry->engines().OnReread(replica.name, Reread::kSame);
  if (!book_.entry(watched.id).doubted) return;
  book_.SetDiscovery(watched.id, book_.known(watched.id).discovery);
  const Discovery& facts = *book_.known(watched.id).discovery;
  tell_(watched, true, absl::StrCat("engine confirms that it holds less: ", DiscoveryText(facts, replica)));
}

void Rereader::Take(WatchedReplica& watched, absl::StatusOr<Discovery> found, bool denied) {
  const Discovery& known = *book_.known(watched.id).discovery;
  Telemetry& telemetry = *control_.edge().telemetry;
  const std::string name = book_.fleet().replicas[watched.id.value()].name;
  if (found.ok()) FitModels(book_.config(), book_.replica_config(watched.id), *found);
  if (found.ok() && found->models.empty() && !known.models.empty()) {
    found = absl::InvalidArgumentError("it lists no model");
  }
  if (!found.ok()) {
    telemetry.engines().OnReread(name, Reread::kFailed);
    // An engine without the pages may be of another kind.
    if (absl::IsNotFound(found.status())) watched.rereading.times.OnUnreadable();
    if (std::exchange(watched.rereading.failed, true)) return;
    return tell_(watched, false, absl::StrCat("models cannot be read again: ", found.status().message()));
  }
  watched.rereading.failed = false;
  std::vector<std::string>& missed = watched.rereading.missed;
  Discovery facts = WithDoubtedModels(known, Renewed(known, *std::move(found)), denied, missed);
  if (!missed.empty()) {
    tell_(watched, false,
          absl::StrCat("engine lists `", missed.front(), "` no more", missed.size() > 1 ? ", nor others" : "",
                       ": requests go on until another reading confirms that"));
  }
  if (facts == known) return TakeSame(watched);
  telemetry.engines().OnReread(name, Reread::kChanged);
  watched.scraper = std::make_shared<EngineScraper>(EngineOf(facts.kind), facts);
  watched.notes->lacks_messages.store(false, std::memory_order_relaxed);
  book_.SetDiscovery(watched.id, std::move(facts));
  const Discovery& now = *book_.known(watched.id).discovery;
  tell_(watched, true,
        absl::StrCat("engine changed: ", DiscoveryText(now, book_.fleet().replicas[watched.id.value()]),
                     book_.entry(watched.id).doubted
                         ? "; it holds less than before: what no longer fits waits until another "
                           "reading confirms that"
                         : ""));
}

}  // namespace penstock
