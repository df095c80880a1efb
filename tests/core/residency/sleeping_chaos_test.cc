// Random fleets of sleepers under random events: what must hold after every one of them.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/core/residency/sleeping_fleet.h"

namespace penstock {
namespace {

using testing::SleeperOptions;
using testing::SleepingCore;
using testing::SleepingFleet;

// The edge and the engines around a core: carries orders out, some of them badly.
class SleepingWorld {
 public:
  explicit SleepingWorld(uint64_t seed)
      : random_(seed), fleet_(DrawFleet()), core_(fleet_, 0), residency_(fleet_.replicas.size(), Residency::kAsleep) {}

  void Run(int events) {
    for (int i = 0; i < events && !::testing::Test::HasFailure(); ++i) {
      core_.Wait(Duration::Milliseconds(Draw(400)));
      FireTimers();
      switch (Draw(8)) {
        case 0:
        case 1:
        case 2:
          Arrive();
          break;
        case 3:
        case 4:
          EndRequest();
          break;
        case 5:
        case 6:
          EndOrder();
          break;
        default:
          Interfere();
      }
    }
  }

  // Every order ends, every request that runs ends: nothing may wait for ever.
  void Settle() {
    for (int i = 0; i < 4000 && !waiting_.empty() && !::testing::Test::HasFailure(); ++i) {
      core_.Wait(Duration::Milliseconds(500));
      FireTimers();
      while (!orders_.empty()) EndOrderOf(orders_.begin()->first, false);
      while (!running_.empty()) Finish(running_.begin()->first);
    }
    EXPECT_TRUE(waiting_.empty()) << waiting_.size() << " requests wait for ever";
  }

 private:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }

  Fleet DrawFleet() {
    SleeperOptions options;
    options.models = 2 + Draw(5);
    options.gpus = 1 + Draw(3);
    options.memory = 10LL * (1 + Draw(3));
    options.copies = Draw(2) == 0;
    options.wake = Duration::Milliseconds(300 + Draw(4000));
    options.after = Duration::Seconds(1 + Draw(20));
    options.ttft = Duration::Seconds(2 + Draw(10));
    Fleet fleet = SleepingFleet(options);
    if (options.gpus > 1 && Draw(3) == 0) fleet.replicas[0].gpus = {0, static_cast<uint32_t>(options.gpus - 1)};
    return fleet;
  }

  void Take(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const auto* sleep = std::get_if<Sleep>(&action)) Order(sleep->replica, Residency::kAwake);
      if (const auto* wake = std::get_if<Wake>(&action)) Order(wake->replica, Residency::kAsleep);
      if (const auto* forward = std::get_if<Forward>(&action)) {
        EXPECT_EQ(residency_[forward->replica.value()], Residency::kAwake) << "a request goes to what is awake";
        EXPECT_EQ(waiting_.erase(forward->request.value()), 1u);
        running_[forward->request.value()] = forward->replica.value();
      }
      if (const auto* refuse = std::get_if<Refuse>(&action)) waiting_.erase(refuse->request.value());
    }
  }

  void Order(ReplicaId replica, Residency from) {
    EXPECT_EQ(orders_.count(replica.value()), 0u) << "one order at a time";
    EXPECT_EQ(residency_[replica.value()], from);
    for (const auto& [request, at] : running_) EXPECT_FALSE(from == Residency::kAwake && at == replica.value());
    const bool wakes = from == Residency::kAsleep;
    residency_[replica.value()] = wakes ? Residency::kWaking : Residency::kFallingAsleep;
    orders_[replica.value()] = core_.now;
    if (wakes) ExpectMemory(replica.value());
  }

  void ExpectMemory(size_t woken) {
    for (const uint32_t gpu : fleet_.replicas[woken].gpus) {
      Bytes taken(0);
      for (size_t i = 0; i < fleet_.replicas.size(); ++i) {
        const std::vector<uint32_t>& gpus = fleet_.replicas[i].gpus;
        const bool there = std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
        if (there && residency_[i] != Residency::kAsleep) taken += fleet_.replicas[i].resident;
      }
      EXPECT_LE(taken, fleet_.gpus[gpu].memory) << "a wake has its memory";
    }
  }

  void FireTimers() {
    for (int i = 0; i < 1000 && core_.core.NextDeadline() && *core_.core.NextDeadline() <= core_.now; ++i) {
      EXPECT_LT(i, 900) << "timers come to an end";
      Take(core_.Send(TimerFired{}));
    }
  }
  void Arrive() {
    const uint64_t id = next_++;
    waiting_.insert(id);
    Take(core_.ArriveFor(id, static_cast<uint32_t>(Draw(static_cast<int>(fleet_.models.size())))));
  }
  void Finish(uint64_t id) {
    running_.erase(id);
    Take(core_.Finish(id, 1 + Draw(300)));
  }
  void EndRequest() {
    if (!running_.empty() && Draw(4) > 0) return Finish(std::next(running_.begin(), Draw(int(running_.size())))->first);
    if (waiting_.empty()) return;
    const uint64_t id = *std::next(waiting_.begin(), Draw(int(waiting_.size())));
    waiting_.erase(id);
    Take(core_.Send(RequestClosed{RequestId(id), Outcome::kClientGone}));
  }
  void EndOrder() {
    if (orders_.empty()) return;
    EndOrderOf(std::next(orders_.begin(), Draw(int(orders_.size())))->first, Draw(5) == 0);
  }
  void EndOrderOf(uint32_t replica, bool fails) {
    const bool wakes = residency_[replica] == Residency::kWaking;
    residency_[replica] = wakes != fails ? Residency::kAwake : Residency::kAsleep;
    const Duration took = core_.now - orders_[replica];
    orders_.erase(replica);
    Take(core_.Told(replica, residency_[replica], fails, took.seconds()));
  }
  // Somebody else changes the residency of a replica, or its health changes.
  void Interfere() {
    const auto replica = static_cast<uint32_t>(Draw(static_cast<int>(fleet_.replicas.size())));
    const bool idle =
        std::none_of(running_.begin(), running_.end(), [&](const auto& one) { return one.second == replica; });
    if (Draw(2) == 0)
      return Take(core_.Send(ReplicaHealth{ReplicaId(replica), Draw(3) == 0 ? Health::kDown : Health::kUp}));
    if (orders_.contains(replica) || !idle) return;
    residency_[replica] = Residency::kAsleep;
    Take(core_.Told(replica, Residency::kAsleep));
  }

  std::mt19937_64 random_;
  Fleet fleet_;
  SleepingCore core_;
  std::vector<Residency> residency_;
  std::map<uint32_t, Instant> orders_;
  std::set<uint64_t> waiting_;
  std::map<uint64_t, uint32_t> running_;
  uint64_t next_ = 1;
};

TEST(SleepingChaos, NoMemoryIsTakenTwiceNoRequestGoesToASleeperAndNoneWaitsForEver) {
  for (uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SleepingWorld world(seed);
    world.Run(600);
    world.Settle();
  }
}

}  // namespace
}  // namespace penstock
