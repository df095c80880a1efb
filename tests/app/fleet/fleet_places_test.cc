// Places of the fleet that are given again after their replica left for good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/core/contract/vacancy.h"
#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Config ParsedPlaces(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

Config OneReplica(const std::string& id, const std::string& url, const std::string& more = "") {
  return ParsedPlaces(
      absl::StrCat("replicas: [{id: ", id, ", url: ", url, ", model: llama-3.1-8b, kv_tokens: 100k", more, "}]"));
}

// Nothing names any replica or any pool any more.
Vacated VacateAll(FleetBook& book) {
  std::vector<ReplicaId> all;
  for (uint32_t i = 0; i < book.fleet().replicas.size(); ++i) all.emplace_back(i);
  return book.Vacate(all, std::vector<bool>(book.fleet().pools.size(), true));
}

TEST(FleetPlaces, APlaceIsGivenAgainOnceEverybodySawItVacant) {
  FleetBook book(OneReplica("a", "http://h:1"));
  book.Update(OneReplica("b", "http://h:2"));
  const Vacated places = VacateAll(book);
  EXPECT_THAT(places.replicas, ElementsAre(0u));
  EXPECT_THAT(places.pools, ElementsAre(0u));
  EXPECT_THAT(places.gpus, ElementsAre(0u));
  EXPECT_TRUE(IsVacant(book.fleet().replicas[0]));
  EXPECT_TRUE(IsVacant(book.fleet().pools[0]));
  book.Update(OneReplica("c", "http://h:3"));
  EXPECT_EQ(book.ReplicaByName("c"), ReplicaId(2)) << "the core has not seen the vacant place yet";
  book.Offer(places);
  book.Update(OneReplica("d", "http://h:4"));
  EXPECT_EQ(book.ReplicaByName("d"), ReplicaId(0));
  const ReplicaSpec& replica = book.fleet().replicas[0];
  EXPECT_FALSE(replica.removed);
  EXPECT_THAT(replica.gpus, ElementsAre(0u));
  EXPECT_EQ(replica.pools[0].pool, PoolId(0));
  EXPECT_EQ(book.fleet().pools[0].name, "d");
  EXPECT_EQ(book.fleet().gpus[0].name, "replica d");
}

TEST(FleetPlaces, AFleetThatIsReplacedForEverStaysSmall) {
  FleetBook book(OneReplica("a", "http://h:1"));
  for (int i = 0; i < 500; ++i) {
    // An orchestrator may give the old name to the new address, or a new name.
    book.Update(OneReplica(i % 2 == 0 ? "same" : absl::StrCat("r", i), absl::StrCat("http://h:", 10 + i)));
    book.Offer(VacateAll(book));
  }
  EXPECT_LE(book.fleet().replicas.size(), 3u);
  EXPECT_LE(book.fleet().pools.size(), 3u);
  EXPECT_LE(book.fleet().gpus.size(), 3u);
}

TEST(FleetPlaces, AReplicaThatComesBackBeforeItsPlaceIsVacantKeepsIt) {
  FleetBook book(OneReplica("a", "http://h:1"));
  book.Update(OneReplica("b", "http://h:2"));
  book.Update(OneReplica("a", "http://h:1"));
  EXPECT_THAT(book.Vacate({ReplicaId(0)}, {}).replicas, IsEmpty()) << "it is no tombstone any more";
  EXPECT_EQ(book.ReplicaByName("a"), ReplicaId(0));
}

TEST(FleetPlaces, AnEngineLeavesWithAllOfItsRanks) {
  FleetBook book(OneReplica("a", "http://h:1"));
  Discovery discovery;
  discovery.kind = EngineKind::kVllm;
  discovery.models = {{"llama-3.1-8b", Tokens(4096)}};
  discovery.ranks = {{0, Tokens(1000)}, {1, Tokens(1000)}};
  book.SetDiscovery(ReplicaId(0), discovery);
  ASSERT_EQ(book.fleet().replicas.size(), 2u);
  book.Update(OneReplica("b", "http://h:2"));
  EXPECT_THAT(book.Vacate({ReplicaId(0)}, {}).replicas, IsEmpty()) << "the other rank still runs a request";
  EXPECT_THAT(book.Vacate({ReplicaId(0), ReplicaId(1)}, {}).replicas, ElementsAre(0u, 1u));
}

TEST(FleetPlaces, APoolWithLeasesAndAConfiguredGpuStay) {
  const std::string gpus = "gpus: [{id: g0, kind: a100-80}]\n";
  FleetBook book(
      ParsedPlaces(gpus + "replicas: [{id: a, url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 8GB}]"));
  book.Update(ParsedPlaces(gpus + "replicas: [{id: b, url: http://h:2, model: llama-3.1-8b, kv_tokens: 1000}]"));
  const Vacated places = book.Vacate({ReplicaId(0)}, {false, true});
  EXPECT_THAT(places.replicas, ElementsAre(0u));
  EXPECT_THAT(places.pools, IsEmpty());
  EXPECT_THAT(places.gpus, IsEmpty());
  EXPECT_THAT(book.Vacate({}, {true, true}).pools, ElementsAre(0u)) << "its last lease has ended";
}

}  // namespace
}  // namespace penstock
