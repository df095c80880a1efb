#include "router/live/fleet/sleeper.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

// Pauses between the tries of an order that fails; they double.
constexpr Duration kFirstRetry = Duration::Seconds(1);
constexpr Duration kLongestRetry = Duration::Seconds(60);
// A stop command that fails so often, with nothing at its address for half a minute, has nothing to stop.
constexpr int kMostStops = 6;

std::vector<std::string> EnvironmentOf(const ReplicaConfig& config) {
  return {absl::StrCat("PENSTOCK_REPLICA=", config.id), absl::StrCat("PENSTOCK_MODEL=", config.model),
          absl::StrCat("PENSTOCK_URL=", config.url), absl::StrCat("PENSTOCK_GPUS=", absl::StrJoin(config.gpus, " "))};
}

bool ByCommand(const ReplicaSleepConfig& config) { return config.by == SleepBy::kCommand; }

}  // namespace

Sleeper::Sleeper(EventLoop& loop, ReplicaId replica, const ReplicaConfig& config, Tell tell)
    : loop_(loop),
      replica_(replica),
      key_(config.key),
      tell_(std::move(tell)),
      config_(config.sleep.value_or(ReplicaSleepConfig())),
      commands_(loop.io(), EnvironmentOf(config)) {}

void Sleeper::Reach(UpstreamAddress address, UpstreamPool::Options options) {
  pool_ = std::make_shared<UpstreamPool>(loop_.io(), std::move(address), std::move(options));
}

void Sleeper::SetConfig(const std::optional<ReplicaSleepConfig>& config) {
  const bool was_retired = std::exchange(retirement_.begun, !config.has_value());
  const bool later = config && residency() != Residency::kAwake && ByCommand(*config) && !ByCommand(config_);
  next_ = later ? config : std::nullopt;
  if (config && !later) config_ = *config;
  // The core has forgotten the replica's sleep meanwhile.
  if (config && was_retired && residency() != Residency::kAwake) TellChange();
  if (!was_retired) retirement_.wakes = Tries();
  TryAgain();
}

bool Sleeper::Tries::Due(Instant now) {
  if (made > 0 && now < next) return false;
  next = now + std::min(kLongestRetry, kFirstRetry * (int64_t{1} << std::min(made, 10)));
  ++made;
  return true;
}

void Sleeper::TryAgain() {
  if (order_.stopped || tracker_.busy() || residency() != Residency::kAsleep) return;
  if (retirement_.begun) {
    if (retirement_.wakes.Due(Now())) Order(Verb::kWake);
    return;
  }
  if (!tracker_.holds()) {
    order_.undo = Tries();
  } else if ((ByCommand(config_) || verbs_ != nullptr) && order_.undo.Due(Now())) {
    Begin(Verb::kSleep);
  }
}

void Sleeper::SetEngine(const SleepVerbs* verbs, SleepTarget target, bool anew) {
  verbs_ = verbs;
  targets_.SetEngine(std::move(target));
  if (tracker_.busy()) return;
  if (anew) tracker_.Forget();
  // An engine that tells nothing was started awake.
  if (!ByCommand(config_) && (verbs == nullptr || verbs->page == nullptr)) {
    if (tracker_.Set(Residency::kAwake, Now())) TellChange();
  }
}

void Sleeper::Order(Verb verb, SleepLevel level) {
  if (tracker_.busy() || order_.stopped || load_.asked_at) return;
  const Residency wanted = verb == Verb::kWake ? Residency::kAwake : Residency::kAsleep;
  if (tracker_.residency() == wanted) return TellEnd(verb, VerbEnd(), Duration());
  if (pool_ == nullptr || (!ByCommand(config_) && verbs_ == nullptr)) {
    return TellEnd(verb, {VerbFault::kUnable, "its engine has no requests for it, or is not known"}, Duration());
  }
  if (verb == Verb::kSleep && !ByCommand(config_) && tracker_.distrusted()) {
    // The page would confirm a sleep that is none, and its memory would count as free.
    return TellEnd(verb, {VerbFault::kUnable, "its page said that it sleeps while it answered; no sleep could be seen"},
                   Duration());
  }
  targets_.Order(level);
  // The last report may be older than the end of our own last request.
  if (verb == Verb::kSleep && load_.running > 0) {
    load_.asked_at = Now();
    return;
  }
  Begin(verb);
}

void Sleeper::SleepUnlessBusy(bool reported) {
  load_.asked_at.reset();
  if (residency() != Residency::kAwake) return TellEnd(Verb::kSleep, VerbEnd(), Duration());
  if (!reported || load_.running <= 0) return Begin(Verb::kSleep);
  TellEnd(Verb::kSleep, {VerbFault::kBusy, absl::StrCat("its engine runs ", load_.running, " requests of others")},
          Duration());
}

void Sleeper::Begin(Verb verb) {
  tracker_.Begin(verb == Verb::kWake, Now());
  loop_.connections().EnterGuest();
  order_.work.Spawn(loop_.io(), Run(verb));
}

asio::awaitable<void> Sleeper::Run(Verb verb) {
  const auto self = shared_from_this();
  const auto leave = absl::MakeCleanup([this] { loop_.connections().LeaveGuest(); });
  VerbEnd end;
  try {
    if (ByCommand(config_)) {
      end = co_await commands_.Run(verb, config_.start, config_.stop, config_.timeout);
    } else {
      end = co_await RunByEngine(verb);
    }
  } catch (const std::exception& surprise) {
    // Without an end, the replica would wait for it for ever.
    end = {VerbFault::kUnable, surprise.what()};
  }
  const Duration took = tracker_.End(end.ok(), Now(), end.holds);
  if (end.page_lies) tracker_.Distrust();
  if (!order_.stopped) TellEnd(verb, std::move(end), took);
}

asio::awaitable<VerbEnd> Sleeper::RunByEngine(Verb verb) {
  const std::shared_ptr<UpstreamPool> pool = pool_;
  const auto end = absl::MakeCleanup([this] { order_.verbs.reset(); });
  // A wake that failed is put back to the sleep from before.
  const bool anew = verb == Verb::kSleep && !tracker_.undoing();
  const SleepTarget target = anew ? targets_.Sleep() : targets_.Wake();
  order_.verbs.emplace(loop_.io(), *pool, key_, *verbs_, target);
  co_return co_await order_.verbs->Run(verb, config_.timeout);
}

void Sleeper::FollowCommands(const SleeperRound& round) {
  using Finding = AbsenceWatch::Finding;
  const Finding finding = absence_.OnRound(
      {round.answered, round.gone, round.refused, round.errs, commands_.start_runs(), load_.running, load_.token},
      Now(), round.patience);
  if (finding == Finding::kAsleep) load_.running = -1;
  const bool absent = finding == Finding::kAsleep && round.refused && order_.undo.made >= kMostStops;
  if (absent && tracker_.holds()) {
    tracker_.Gone(round.began);
    return TellChange();
  }
  if (finding == Finding::kAwake || finding == Finding::kAsleep) {
    const Residency found = finding == Finding::kAwake ? Residency::kAwake : Residency::kAsleep;
    if (tracker_.Set(found, round.began)) TellChange();
  } else if (finding == Finding::kHangs && residency() == Residency::kAwake && !retirement_.begun) {
    load_.asked_at.reset();
    Begin(Verb::kSleep);
    // The engine may answer again, but it is being stopped: the core sends nothing more there.
    SleepNews news = {Present(false, Duration()), std::nullopt, VerbEnd()};
    news.hangs = true;
    tell_(news);
  }
}

asio::awaitable<void> Sleeper::AfterRound(SleeperRound round) {
  const auto self = shared_from_this();
  if (next_ && !tracker_.busy() && (round.gone || residency() == Residency::kAwake)) {
    config_ = *std::exchange(next_, std::nullopt);
  }
  if (ByCommand(config_) && !tracker_.busy()) FollowCommands(round);
  if (!ByCommand(config_) && !tracker_.busy() && round.ended && !retirement_.begun) {
    load_.running = -1;
    if (tracker_.Gone(round.began)) {
      SleepNews news = {Present(false, Duration()), std::nullopt, VerbEnd()};
      news.ended = true;
      tell_(news);
    }
  }
  // An engine that is silent for a moment may still report. One that is gone will not.
  const bool known = round.answered || round.gone;
  if (load_.asked_at && round.began >= *load_.asked_at && known && !tracker_.busy()) SleepUnlessBusy(round.answered);
  TryAgain();
  if (tracker_.busy()) {
    commands_.OnPoll(round.answered);
  } else if (!ByCommand(config_) && round.answered && verbs_ != nullptr && verbs_->page != nullptr) {
    const Instant asked = Now();
    const std::shared_ptr<UpstreamPool> pool = pool_;
    const SleepVerbs* const verbs = verbs_;
    EngineVerbs question(loop_.io(), *pool, key_, *verbs, targets_.engine());
    const EngineRest rest = co_await question.Ask();
    // The answer is that of the engine before.
    if (order_.stopped || verbs_ != verbs) co_return;
    if (rest != EngineRest::kAwake && rest != EngineRest::kAsleep && rest != EngineRest::kFailed) co_return;
    const ResidencyTracker::Finding finding = tracker_.Saw(rest != EngineRest::kAwake, asked);
    if (finding == ResidencyTracker::Finding::kChanged) TellChange();
    const bool settled = finding == ResidencyTracker::Finding::kNothing && !tracker_.busy();
    if (settled && residency() == Residency::kAsleep && load_.running > 0) {
      tell_({{replica_, residency(), false, Duration()}, std::nullopt, VerbEnd(), true, false});
    }
    // The metrics may tell the level later than the page tells the sleep.
    if (settled && residency() == Residency::kAsleep && verbs_->levels && targets_.news()) TellChange();
    if (finding == ResidencyTracker::Finding::kLies) {
      tell_({{replica_, residency(), false, Duration()}, std::nullopt, VerbEnd(), false, true});
    }
  }
}

void Sleeper::OnSaidAsleep() {
  if (tracker_.busy() || order_.stopped || ByCommand(config_)) return;
  if (tracker_.Set(Residency::kAsleep, Now())) TellChange();
}

void Sleeper::Stop(bool leaves) {
  order_.stopped = true;
  if (leaves) {
    commands_.Abandon();
  } else {
    commands_.Stop();
  }
  if (!order_.verbs) return;
  order_.verbs->Stop();
  // Its verb may still wait for a connection.
  order_.work.Cut();
}

ReplicaResidency Sleeper::Present(bool failed, Duration took) {
  const bool awake = residency() == Residency::kAwake;
  if (awake) targets_.Awake();
  const bool tells = !awake && verbs_ != nullptr && verbs_->levels;
  // One that sleeps and may hold memory counts as waking.
  const Residency shown = tracker_.holds() ? Residency::kWaking : residency();
  return {replica_, shown, failed, took, tells ? targets_.Tell() : SleepLevel::kUnsaid};
}

void Sleeper::TellEnd(Verb verb, VerbEnd end, Duration took) {
  const ReplicaResidency event = Present(!end.ok(), took);
  tell_({event, verb, std::move(end), false, false});
}

void Sleeper::TellChange() { tell_({Present(tracker_.holds(), Duration()), std::nullopt, VerbEnd(), false, false}); }

}  // namespace penstock
