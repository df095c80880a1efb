// The sleep of one replica by commands, while its engine is silent, gone or hangs.
#include "router/live/fleet/sleeper.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "base/clock.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

constexpr SleeperRound kSilent = {.patience = Duration::Seconds(1000)};
constexpr SleeperRound kCrashed = {.gone = true, .refused = true, .patience = Duration::Seconds(1000)};

class Sleepers : public ::testing::Test {
 protected:
  static ReplicaConfig Commanded() {
    ReplicaConfig config;
    config.id = "r";
    config.sleep.emplace();
    config.sleep->by = SleepBy::kCommand;
    config.sleep->start = "exec sleep 1000";
    config.sleep->stop = "true";
    config.sleep->timeout = Duration::Seconds(50);
    return config;
  }
  Sleepers() { sleeper_->Reach(UpstreamAddress(), {}); }
  ~Sleepers() override {
    sleeper_->Stop();
    sleeper_->Release();
    loop_.io().restart();
    loop_.io().poll();
  }

  void Round(SleeperRound round) {
    round.began = Now();
    asio::co_spawn(loop_.io(), sleeper_->AfterRound(round), asio::detached);
    loop_.io().restart();
    loop_.io().poll();
  }
  // Rounds of this kind until there are so many news; false after a minute.
  bool RoundsUntil(const SleeperRound& round, size_t news) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (news_.size() < news && std::chrono::steady_clock::now() < limit) {
      Round(round);
      loop_.io().run_one_for(std::chrono::milliseconds(10));
    }
    return news_.size() >= news;
  }
  void Wake() {
    Round(kCrashed);
    sleeper_->Order(Verb::kWake);
    ASSERT_TRUE(RoundsUntil({.answered = true}, 2));
    ASSERT_EQ(sleeper_->residency(), Residency::kAwake);
    news_.clear();
  }

  void Become(SleepBy by) {
    std::optional<ReplicaSleepConfig> config = Commanded().sleep;
    config->by = by;
    sleeper_->SetConfig(config);
  }

  Edge edge_;
  EventLoop loop_{0, edge_};
  std::vector<SleepNews> news_;
  std::shared_ptr<Sleeper> sleeper_ = std::make_shared<Sleeper>(
      loop_, ReplicaId(0), Commanded(), [this](const SleepNews& news) { news_.push_back(news); });
};

TEST_F(Sleepers, AnOldReportOfAnEngineThatIsGoneIsNoReasonToStayAwake) {
  sleeper_->OnLoad(2, SleepLevel::kUnsaid);
  sleeper_->Order(Verb::kSleep);
  EXPECT_TRUE(sleeper_->waits_for_load());
  Round(kSilent);
  EXPECT_TRUE(news_.empty()) << "it may still report";
  Round(kCrashed);
  ASSERT_EQ(news_.size(), 2U);
  EXPECT_EQ(news_[0].event.residency, Residency::kAsleep);
  EXPECT_EQ(news_[1].verb, Verb::kSleep);
  EXPECT_TRUE(news_[1].end.ok()) << news_[1].end.message;
}

TEST_F(Sleepers, AnEngineThatSleepsByItsOwnRequestsDoesNotWakeByAReloadToCommands) {
  Become(SleepBy::kAuto);
  sleeper_->OnSaidAsleep();
  Become(SleepBy::kCommand);
  ASSERT_EQ(news_.size(), 1U);
  Round({.answered = true});
  EXPECT_EQ(sleeper_->residency(), Residency::kAsleep) << "it answers its pages, and sleeps";
  EXPECT_EQ(news_.size(), 1U);
  // Its process has ended: from now on the commands start it.
  Round(kCrashed);
  Round({.answered = true});
  EXPECT_EQ(sleeper_->residency(), Residency::kAwake);
}

TEST_F(Sleepers, AFailedWakeThatCannotBeStoppedCountsAsWakingUntilItsStopEndsWell) {
  Round(kCrashed);
  ReplicaSleepConfig config = *Commanded().sleep;
  config.start = "true";
  config.stop = "exit 1";
  config.timeout = Duration::Milliseconds(100);
  sleeper_->SetConfig(config);
  sleeper_->Order(Verb::kWake);
  ASSERT_TRUE(RoundsUntil(kCrashed, 3));
  EXPECT_EQ(news_[1].verb, Verb::kWake);
  EXPECT_EQ(news_[2].verb, Verb::kSleep) << "it is stopped again";
  for (size_t i : {1u, 2u}) {
    EXPECT_TRUE(news_[i].event.failed);
    EXPECT_EQ(news_[i].event.residency, Residency::kWaking) << "it may hold its memory, though nothing answers";
  }
  EXPECT_FALSE(sleeper_->rests());
  config.stop = "true";
  sleeper_->SetConfig(config);
  const size_t seen = news_.size();
  ASSERT_TRUE(RoundsUntil(kCrashed, seen + 1));
  while (news_.back().event.failed) ASSERT_TRUE(RoundsUntil(kCrashed, news_.size() + 1));
  EXPECT_EQ(news_.back().event.residency, Residency::kAsleep);
  EXPECT_TRUE(sleeper_->rests());
}

TEST_F(Sleepers, AnEngineThatEndedIsAsleepOnceTheCoreKnowsThatItIsDown) {
  Become(SleepBy::kAuto);
  Round(kCrashed);
  EXPECT_TRUE(news_.empty());
  SleeperRound ended = kCrashed;
  ended.ended = true;
  Round(ended);
  Round(ended);
  ASSERT_EQ(news_.size(), 1U) << "told once";
  EXPECT_TRUE(news_[0].ended);
  EXPECT_EQ(news_[0].event.residency, Residency::kAsleep);
  EXPECT_FALSE(sleeper_->hides_absence()) << "nobody can wake it";
}

TEST_F(Sleepers, AnEngineWhoseStartCommandRunsIsNotAsleepBeforeItsEnd) {
  Wake();
  Round({.gone = true, .patience = Duration::Seconds(1000)});
  EXPECT_TRUE(news_.empty());
  EXPECT_EQ(sleeper_->residency(), Residency::kAwake);
  EXPECT_FALSE(sleeper_->hides_absence()) << "it is down";
  Round({.gone = true});
  ASSERT_EQ(news_.size(), 1U);
  EXPECT_TRUE(news_[0].hangs);
  EXPECT_EQ(news_[0].event.residency, Residency::kFallingAsleep) << "nothing more is sent there";
  ASSERT_TRUE(RoundsUntil({.gone = true}, 2));
  EXPECT_EQ(news_[1].event.residency, Residency::kAsleep);
  EXPECT_EQ(news_[1].verb, Verb::kSleep);
}

}  // namespace
}  // namespace penstock
