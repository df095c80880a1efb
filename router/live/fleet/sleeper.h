// Carries out the orders to one replica to sleep and to wake, and watches what the engine does by itself.
//
// One order is under way at a time, and each ends within the configured timeout. It reports each end, and each change
// that somebody else made. Belongs to the control loop; a guest of it while an order is under way.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_SLEEPER_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_SLEEPER_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/command/absence_watch.h"
#include "backends/command/command_sleep.h"
#include "backends/engines/contract/engine_declaration.h"
#include "backends/engines/contract/verb_end.h"
#include "backends/engines/verbs/engine_verbs.h"
#include "backends/engines/verbs/sleep_targets.h"
#include "backends/health/residency_tracker.h"
#include "backends/socket/cut_off.h"
#include "config/config.h"
#include "router/core/contract/event.h"
#include "router/live/event_loop.h"

namespace penstock {

// The news of a Sleeper.
struct SleepNews {
  ReplicaResidency event;
  std::optional<Verb> verb;  // The order that ended; nullopt: nobody ordered it.
  VerbEnd end;
  // At most one of the first two; nothing else changed then.
  bool holds = false;  // It sleeps, and holds requests that it accepted. The core knows that it sleeps.
  bool lies = false;   // The engine was found to say that it sleeps while it answers.
  bool hangs = false;  // It hangs on its memory, and is being stopped.
  bool ended = false;  // Its process has ended, so it counts as asleep.
};

// A round of the monitor.
struct SleeperRound {
  bool answered = false;
  bool gone = false;     // The engine is down by its polls.
  bool refused = false;  // As CommandRound has both.
  bool errs = false;
  bool ended = false;  // Its process has ended, and the core knows that it is down.
  Instant began;
  Duration patience;  // Time after which an engine that hangs is stopped.
};

class Sleeper : public std::enable_shared_from_this<Sleeper> {
 public:
  using Tell = std::function<void(const SleepNews&)>;

  Sleeper(EventLoop& loop, ReplicaId replica, const ReplicaConfig& config, Tell tell);

  // The way to the engine; at the start and never later.
  void Reach(UpstreamAddress address, UpstreamPool::Options options);
  // A reload. A replica that may sleep no more is woken, however often that takes. One that sleeps by requests of its
  // engine is woken by them, and its commands hold from then on, or once its engine is gone.
  void SetConfig(const std::optional<ReplicaSleepConfig>& config);
  // The engine was recognised. Null verbs: it has none. `anew`: it may be another process than before.
  void SetEngine(const SleepVerbs* verbs, SleepTarget target, bool anew = true);

  // An order of the core. `level`: of a sleep. Void while another is under way.
  void Order(Verb verb, SleepLevel level = SleepLevel::kUnsaid);
  boost::asio::awaitable<void> AfterRound(SleeperRound round);
  // Requests that the engine runs by its own report; negative: it does not say.
  // `level`: of its sleep, as its metrics tell it.
  void OnLoad(int running, SleepLevel level) {
    load_.running = running;
    targets_.Report(level);
  }
  // The engine refused a request, because the model is not in memory.
  void OnSaidAsleep();
  void OnToken(Instant then) {
    tracker_.OnToken(then);
    load_.token = then;
  }
  // `leaves`: the replica is no part of the fleet any more. A wake under way is undone; what runs ends later.
  void Stop(bool leaves = false);
  // The last call: connections must end before the loop.
  void Release() { pool_.reset(); }

  Residency residency() const { return tracker_.residency(); }
  // An engine that does not answer is no failure now: a command stopped it, or starts it.
  bool hides_absence() const {
    return config_.by == SleepBy::kCommand && !retirement_.begun && tracker_.residency() != Residency::kAwake;
  }
  // The replica may sleep no more, and is not awake yet. The core takes it for awake.
  bool sleeps_untold() const { return retirement_.begun && tracker_.residency() != Residency::kAwake; }
  // An order to sleep waits for the next report of the engine.
  bool waits_for_load() const { return load_.asked_at.has_value(); }
  // Nothing is under way or in doubt.
  bool rests() const { return tracker_.residency() == Residency::kAsleep && !tracker_.in_doubt() && !tracker_.holds(); }

 private:
  // Tries of an order that fails, with pauses that double.
  struct Tries {
    int made = 0;
    Instant next;
    // True: the next one is due, and counts as made.
    bool Due(Instant now);
  };

  // A replica that may sleep no more, and its wakes since then.
  struct Retirement {
    bool begun = false;
    Tries wakes;
  };

  // The last signs of work of the engine, and the order to sleep that waits for a younger report.
  struct Load {
    int running = -1;
    Instant token;
    std::optional<Instant> asked_at;
  };

  // The order under way. Once it is stopped, nothing begins and no end is news.
  struct UnderWay {
    bool stopped = false;
    std::optional<EngineVerbs> verbs;
    CutOff work;
    Tries undo;  // They put a failed wake back to sleep.
  };

  // Wakes a replica that may sleep no more, and puts one to sleep again whose wake failed.
  void TryAgain();
  // A report that is younger than the order has come, or none will.
  void SleepUnlessBusy(bool reported);
  // An engine of commands needs no page to tell that it sleeps. One that hangs is stopped.
  void FollowCommands(const SleeperRound& round);
  void Begin(Verb verb);
  boost::asio::awaitable<void> Run(Verb verb);
  boost::asio::awaitable<VerbEnd> RunByEngine(Verb verb);
  // The present residency, as the core gets it.
  ReplicaResidency Present(bool failed, Duration took);
  void TellEnd(Verb verb, VerbEnd end, Duration took);
  void TellChange();

  EventLoop& loop_;
  const ReplicaId replica_;
  const std::string key_;
  const Tell tell_;
  ReplicaSleepConfig config_;
  std::optional<ReplicaSleepConfig> next_;  // Of commands, while the engine sleeps by its own requests.
  ResidencyTracker tracker_;
  std::shared_ptr<UpstreamPool> pool_;  // Each user has a share.
  const SleepVerbs* verbs_ = nullptr;
  SleepTargets targets_;
  CommandSleep commands_;
  AbsenceWatch absence_;
  UnderWay order_;
  Load load_;
  Retirement retirement_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_SLEEPER_H_
