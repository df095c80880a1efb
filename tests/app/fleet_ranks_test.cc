// The data-parallel ranks of an engine in the fleet book: replicas of their own behind one address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

Config RankConfigOf(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

Discovery WithRanks(std::vector<RankFacts> ranks) {
  Discovery discovery;
  discovery.kind = EngineKind::kVllm;
  discovery.models = {{"llama-3.1-8b", Tokens(8192), "", ""}};
  discovery.block = Tokens(16);
  for (const RankFacts& rank : ranks) discovery.kv_tokens += rank.kv_tokens;
  discovery.ranks = std::move(ranks);
  return discovery;
}

std::vector<std::string> LiveNames(const FleetBook& book) {
  std::vector<std::string> names;
  for (const ReplicaSpec& replica : book.fleet().replicas) {
    if (!replica.removed) names.push_back(replica.name);
  }
  return names;
}

const PoolSpec& RankPool(const FleetBook& book, uint32_t replica) {
  return book.fleet().pools[book.fleet().replicas[replica].pools.at(0).pool.value()];
}

constexpr char kTwoGpus[] =
    "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\n"
    "replicas:\n"
    "  - {id: a, url: http://h:1, gpus: [g0, g1], model: llama-3.1-8b}\n"
    "  - {id: b, url: http://h:2}\n";

TEST(FleetRanks, EachRankIsAReplicaWithAPoolOfItsOwn) {
  FleetBook book(RankConfigOf(kTwoGpus));
  book.SetDiscovery(ReplicaId(0), WithRanks({{0, Tokens(1600)}, {1, Tokens(3200)}}));
  EXPECT_THAT(LiveNames(book), ElementsAre("a/0", "b", "a/1"));
  EXPECT_EQ(RankPool(book, 0).name, "a/0");
  EXPECT_EQ(RankPool(book, 2).name, "a/1");
  EXPECT_EQ(RankPool(book, 2).capacity.value(), 2 * RankPool(book, 0).capacity.value());
  EXPECT_EQ(RankPool(book, 0).capacity.value(), 1600 * int64_t{131072}) << "one GPU holds all heads";
  EXPECT_NE(book.fleet().replicas[0].gpus, book.fleet().replicas[2].gpus);
  EXPECT_EQ(book.fleet().replicas[0].models, book.fleet().replicas[2].models);
  EXPECT_EQ(book.entry(ReplicaId(2)).first, 0u);
  EXPECT_EQ(book.entry(ReplicaId(2)).place->rank, 1);
  EXPECT_THAT(book.RanksOf(ReplicaId(0)), ElementsAre(ReplicaId(0), ReplicaId(2)));
  EXPECT_EQ(book.replica_config(ReplicaId(2)).id, "a");
}

TEST(FleetRanks, OneRankIsThePlainReplica) {
  FleetBook book(RankConfigOf(kTwoGpus));
  book.SetDiscovery(ReplicaId(0), WithRanks({}));
  EXPECT_THAT(LiveNames(book), ElementsAre("a", "b"));
  EXPECT_FALSE(book.entry(ReplicaId(0)).place.has_value());
}

TEST(FleetRanks, ARestartWithOtherRanksLeavesTombstones) {
  FleetBook book(RankConfigOf(kTwoGpus));
  book.SetDiscovery(ReplicaId(0), WithRanks({{0, Tokens(1600)}, {1, Tokens(1600)}, {2, Tokens(1600)}}));
  EXPECT_THAT(LiveNames(book), ElementsAre("a/0", "b", "a/1", "a/2"));
  book.SetDiscovery(ReplicaId(0), WithRanks({{0, Tokens(1600)}, {2, Tokens(1600)}}));
  EXPECT_THAT(LiveNames(book), ElementsAre("a/0", "b", "a/2"));
  EXPECT_TRUE(book.fleet().replicas[2].removed);
  book.SetDiscovery(ReplicaId(0), WithRanks({}));
  EXPECT_THAT(LiveNames(book), ElementsAre("a", "b"));
  book.SetDiscovery(ReplicaId(0), WithRanks({{0, Tokens(1600)}, {1, Tokens(1600)}}));
  EXPECT_THAT(LiveNames(book), ElementsAre("a/0", "b", "a/1")) << "a rank that comes back has its old id";
  EXPECT_EQ(book.fleet().replicas.size(), 4u);
}

TEST(FleetRanks, AReloadKeepsThemAndARemovalTakesAll) {
  FleetBook book(RankConfigOf(kTwoGpus));
  book.SetDiscovery(ReplicaId(0), WithRanks({{0, Tokens(1600)}, {1, Tokens(1600)}}));
  book.Update(RankConfigOf(kTwoGpus));
  EXPECT_THAT(LiveNames(book), ElementsAre("a/0", "b", "a/1"));
  book.Update(RankConfigOf("replicas: [{id: b, url: http://h:2}]"));
  EXPECT_THAT(LiveNames(book), ElementsAre("b"));
}

TEST(FleetRanks, SimulatedRanksAreKnownFromTheConfiguration) {
  const FleetBook book(
      RankConfigOf("gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\n"
                   "replicas: [{id: a, gpus: [g0, g1], model: llama-3.1-8b, simulated: {ranks: 2}}]\n"));
  EXPECT_THAT(LiveNames(book), ElementsAre("a/0", "a/1"));
  EXPECT_EQ(RankPool(book, 0).capacity, RankPool(book, 1).capacity);
  EXPECT_GT(RankPool(book, 0).capacity, Amount(0));
}

TEST(FleetRanks, GpusThatRanksDoNotDivideAreAMistake) {
  const auto config = ParseConfig(
      "gpus: [{id: g0, kind: a100-80}]\n"
      "replicas: [{id: a, gpus: [g0], model: llama-3.1-8b, simulated: {ranks: 2}}]\n",
      "f.yaml");
  EXPECT_THAT(std::string(config.status().message()),
              testing::HasSubstr("has 2 ranks, which do not divide the 1 GPUs"));
}

}  // namespace
}  // namespace penstock
