#include "router/core/prompts/prefix_holders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "router/core/prompts/prompt_cache.h"

namespace penstock {
namespace {

using Blocks = PromptCache::Prefix;

// The prompt of a session after so many turns; all sessions of a family begin alike. Chained hashes: equal name, equal
// text up to there.
Blocks PromptOf(uint64_t family, uint64_t session, size_t blocks) {
  Blocks prompt;
  for (uint64_t i = 0; i < blocks; ++i) {
    prompt.push_back(i < 11 ? 1'000'000 * family + i : 1'000'000 * family + 1000 * (session + 1) + i);
  }
  return prompt;
}

bool Lists(const PrefixHolders& holders, uint64_t block, uint32_t replica) {
  const auto of = holders.Of(block);
  return std::find(of.begin(), of.end(), replica) != of.end();
}

TEST(PrefixHolders, AReplicaIsListedOnceUnderEachLandmarkThatItHolds) {
  PrefixHolders holders;
  PromptCache cache;
  cache.ListIn(&holders, 7);
  cache.SetRoom(100);
  std::vector<RequestId> others;
  const Blocks prompt = PromptOf(1, 1, 20);
  cache.Join(RequestId(1), prompt, others);
  cache.Join(RequestId(2), PromptOf(1, 2, 20), others);
  EXPECT_EQ(holders.Landmarks(prompt), 3u);
  EXPECT_EQ(holders.Of(prompt[0]).size(), 1u);
  EXPECT_EQ(holders.Of(prompt[0])[0], 7u);
  EXPECT_EQ(holders.Of(prompt[1]).size(), 0u) << "between landmarks nothing is listed";
}

TEST(PrefixHolders, ABlockThatWasLeftIsListedUntilItIsForgotten) {
  PrefixHolders holders;
  PromptCache cache;
  cache.ListIn(&holders, 7);
  cache.SetRoom(100);
  std::vector<RequestId> others;
  const Blocks prompt = PromptOf(1, 1, 20);
  cache.Join(RequestId(1), prompt, others);
  cache.Leave(RequestId(1), prompt, 20, others);
  EXPECT_EQ(holders.Landmarks(prompt), 3u);
  cache.SetRoom(9);
  EXPECT_EQ(holders.Landmarks(prompt), 2u);
  cache.Forget();
  EXPECT_EQ(holders.Landmarks(prompt), 0u);
}

// Prompts come and go at random.
class RandomCaches {
 public:
  static constexpr uint32_t kReplicas = 5;

  explicit RandomCaches(bool all_computed) : all_computed_(all_computed) {
    for (uint32_t i = 0; i < kReplicas; ++i) caches_[i].ListIn(&holders_, i);
  }
  void Step() {
    const auto replica = static_cast<uint32_t>(random_() % kReplicas);
    const uint64_t what = random_() % 10;
    ++steps_;
    if (what < 5) {
      running_.push_back({replica, RequestId(steps_), PromptOf(random_() % 3, random_() % 4, 1 + random_() % 40)});
      caches_[replica].Join(running_.back().id, running_.back().prompt, others_);
    } else if (what < 8 && !running_.empty()) {
      std::swap(running_[random_() % running_.size()], running_.back());
      const Running gone = running_.back();
      running_.pop_back();
      const bool computed = all_computed_ || random_() % 2 == 0;
      const auto kept = static_cast<int64_t>(computed ? gone.prompt.size() : 0);
      caches_[gone.replica].Leave(gone.id, gone.prompt, kept, others_);
    } else if (what == 8) {
      caches_[replica].SetRoom(static_cast<int64_t>(random_() % 60));
    } else if (steps_ % 97 == 0) {
      caches_[replica].Forget();
    }
  }
  Blocks Draw() { return PromptOf(random_() % 3, random_() % 4, 40); }
  bool Holds(uint32_t replica, uint64_t block) const {
    const PromptCache::Match match = caches_[replica].Find({block});
    return match.live + match.left == 1;
  }
  const PrefixHolders& holders() const { return holders_; }

 private:
  struct Running {
    uint32_t replica;
    RequestId id;
    Blocks prompt;
  };

  const bool all_computed_;
  PrefixHolders holders_;
  std::array<PromptCache, kReplicas> caches_;
  std::vector<Running> running_;
  std::vector<RequestId> others_;
  std::mt19937_64 random_{5};
  uint64_t steps_ = 0;
};

TEST(PrefixHolders, TheListAgreesWithEveryCacheWhateverComesAndGoes) {
  RandomCaches caches(false);
  for (int step = 0; step < 4000; ++step) {
    caches.Step();
    const Blocks asked = caches.Draw();
    for (uint32_t i = 0; i < RandomCaches::kReplicas; ++i) {
      for (size_t at = 0; at < asked.size(); at += PrefixHolders::kLandmark) {
        ASSERT_EQ(Lists(caches.holders(), asked[at], i), caches.Holds(i, asked[at])) << "step " << step << ", " << at;
      }
    }
  }
}

TEST(PrefixHolders, TheDeepestLandmarkIsTheLastThatAnyReplicaHolds) {
  RandomCaches caches(true);
  for (int step = 0; step < 4000; ++step) {
    caches.Step();
    const Blocks asked = caches.Draw();
    size_t deepest = 0;
    for (size_t at = 0; at < asked.size(); at += PrefixHolders::kLandmark) {
      for (uint32_t i = 0; i < RandomCaches::kReplicas; ++i) {
        if (caches.Holds(i, asked[at])) deepest = at / PrefixHolders::kLandmark + 1;
      }
    }
    ASSERT_EQ(caches.holders().Landmarks(asked), deepest) << "step " << step;
  }
}

}  // namespace
}  // namespace penstock
