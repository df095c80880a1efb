#include "router/live/fleet/sleep_keeper.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backends/transport/fetch.h"
#include "backends/transport/upstream.h"
#include "base/clock.h"
#include "router/fleet/sleep_plan.h"
#include "router/live/fleet/notice.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace {

// A sleeping engine changes only when somebody else wakes it.
constexpr Duration kSleepingPause = Duration::Seconds(1);
// A start is waited for.
constexpr Duration kWakingPause = Duration::Milliseconds(100);

// Rivals of Penstock know no sleep.
bool PolicySleeps(const Config& config) { return absl::StartsWith(config.policy, "penstock"); }

static_assert(static_cast<size_t>(VerbFault::kStopped) == kSleepResultLabels.size());
SleepResult ResultOf(VerbFault fault) { return static_cast<SleepResult>(fault); }

absl::string_view NameOf(Verb verb) { return verb == Verb::kWake ? "wake" : "sleep"; }

}  // namespace

void SleepKeeper::Configure(WatchedReplica& watched) {
  const ReplicaConfig& config = book_.replica_config(watched.id);
  const bool sleeps = config.sleep.has_value() && PolicySleeps(book_.config());
  if (watched.sleeper != nullptr) {
    watched.sleeper->SetConfig(sleeps ? config.sleep : std::nullopt);
    watched.health.SetSleeping(watched.sleeper->sleeps_untold());
  } else if (sleeps && watched.address) {
    watched.sleeper = std::make_shared<Sleeper>(
        control_, watched.id, config, [this, name = config.id, notes = watched.notes](const SleepNews& news) {
          notes->away.store(news.event.residency != Residency::kAwake, std::memory_order_relaxed);
          OnNews(name, news);
        });
    watched.sleeper->Reach(*watched.address, watched.PoolOptions());
  }
  if (watched.discovered) OnDiscovered(watched, false);
}

void SleepKeeper::Leave(const WatchedReplica& watched) {
  if (watched.sleeper == nullptr) return;
  const bool leaves = book_.removed(watched.id);
  watched.sleeper->Stop(leaves);
  std::erase_if(leaving_, [](const std::weak_ptr<Sleeper>& each) { return each.expired(); });
  if (leaves) leaving_.push_back(watched.sleeper);
}

void SleepKeeper::Stop() {
  for (const std::weak_ptr<Sleeper>& each : leaving_) {
    if (const auto sleeper = each.lock()) sleeper->Stop();
  }
}

void SleepKeeper::OnDiscovered(WatchedReplica& watched, bool anew) {
  if (watched.sleeper == nullptr) return;
  const KnownReplica& known = book_.known(watched.id);
  const std::string fault = SleepFault(known);
  if (!fault.empty()) {
    LogWarning(control_.edge(), watched.config.id, absl::StrCat("replica cannot sleep: ", fault));
    control_.edge().telemetry->engines().OnSleepEnd(watched.config.id, SleepResult::kUnable);
  }
  const ReplicaSpec& spec = book_.fleet().replicas[watched.id.value()];
  const SleepVerbs& verbs = watched.scraper->engine().sleep_verbs;
  const bool usable = fault.empty() && verbs.sleep != nullptr && !spec.models.empty();
  std::string model = spec.models.empty() ? "" : book_.EngineModelName(watched.id, spec.models.front());
  watched.sleeper->SetEngine(usable ? &verbs : nullptr, SleepTargetOf(known, spec.sleep, std::move(model)), anew);
}

void SleepKeeper::Order(WatchedReplica& watched, Verb verb, SleepLevel level) {
  if (watched.sleeper == nullptr) {
    // The reload that took its sleep away crossed the order.
    return publish_({watched.id, Residency::kAwake, verb == Verb::kSleep, Duration()});
  }
  watched.sleeper->Order(verb, level);
  if (watched.sleeper->waits_for_load()) watched.pause.cancel();
  if (watched.sleeper->residency() != Residency::kWaking || !watched.sleeper->hides_absence()) return;
  watched.health.OnStarted(Now());
  watched.discovered = false;
  watched.pause.cancel();
}

boost::asio::awaitable<void> SleepKeeper::AfterRound(WatchedReplica& watched, absl::Status status, Instant began) {
  if (watched.sleeper == nullptr) co_return;
  const int answer = HttpStatusOf(status);
  const bool no_upstream = answer == 502 || answer == 504;
  SleeperRound round;
  round.answered = status.ok();
  round.gone = watched.health.probing_needed();
  round.refused = absl::IsUnavailable(status) && (answer == 0 || no_upstream);
  round.errs = answer != 0 && answer != 503 && !no_upstream;
  // The core would wake one that it takes for up.
  round.ended = round.gone && WasRefused(status) && watched.told.health == Health::kDown;
  round.began = began;
  round.patience = book_.config().limits.hang_after;
  co_await watched.sleeper->AfterRound(round);
}

void SleepKeeper::OnSaidAsleep(WatchedReplica& watched) {
  if (watched.sleeper != nullptr) watched.sleeper->OnSaidAsleep();
}

Health SleepKeeper::HealthOf(const WatchedReplica& watched) const {
  const Health health = watched.health.health();
  if (health != Health::kDown || !HidesAbsence(watched)) return health;
  return book_.replica_config(watched.id).drain ? Health::kDraining : Health::kUp;
}

Duration SleepKeeper::PauseOf(const WatchedReplica& watched, Duration usual) {
  if (watched.sleeper == nullptr) return usual;
  if (watched.sleeper->rests() && !watched.health.probing_needed()) return std::max(usual, kSleepingPause);
  return HidesAbsence(watched) ? std::min(usual, kWakingPause) : usual;
}

void SleepKeeper::OnNews(const std::string& replica, const SleepNews& news) {
  if (news.holds) return publisher_.TellLost({news.event.replica}, EngineLoss::kAsleep);
  Telemetry& telemetry = *control_.edge().telemetry;
  if (news.lies || news.end.page_lies) {
    LogWarning(control_.edge(), replica, "engine says that it sleeps, and answers; its page is not believed");
    telemetry.engines().OnFalseSleep(replica);
    if (news.lies) return;
  }
  if (news.hangs) {
    LogWarning(control_.edge(), replica,
               "engine hangs and may hold its memory: it is stopped, as by an order to sleep");
  } else if (news.ended) {
    LogWarning(control_.edge(), replica, "engine has ended: its memory counts as free until it answers again");
  } else if (!news.verb) {
    const bool awake = news.event.residency == Residency::kAwake;
    LogNotice(control_.edge(), replica, awake ? "replica was found awake" : "replica was found asleep");
  } else if (*news.verb == Verb::kWake) {
    telemetry.engines().OnWakeEnd(replica, ResultOf(news.end.fault), news.event.took);
  } else {
    telemetry.engines().OnSleepEnd(replica, ResultOf(news.end.fault));
  }
  if (news.verb && news.event.failed) {
    LogWarning(control_.edge(), replica, absl::StrCat("replica did not ", NameOf(*news.verb), ": ", news.end.message));
  } else if (news.verb) {
    LogNotice(control_.edge(), replica,
              absl::StrFormat("replica %s after %.3f s", *news.verb == Verb::kWake ? "woke" : "fell asleep",
                              news.event.took.seconds()));
  }
  publish_(news.event);
}

}  // namespace penstock
