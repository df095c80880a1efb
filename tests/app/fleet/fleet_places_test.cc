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

// Nothing but the book names any place any more.
Vacated VacateAll(FleetBook& book) {
  QuietPlaces all;
  for (uint32_t i = 0; i < book.fleet().replicas.size(); ++i) all.replicas.emplace_back(i);
  for (uint32_t i = 0; i < book.fleet().models.size(); ++i) all.models.push_back(i);
  for (uint32_t i = 0; i < book.fleet().classes.size(); ++i) all.classes.push_back(i);
  all.idle_pools.assign(book.fleet().pools.size(), true);
  return book.Vacate(all);
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
  EXPECT_THAT(book.Vacate({{ReplicaId(0)}}).replicas, IsEmpty()) << "it is no tombstone any more";
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
  EXPECT_THAT(book.Vacate({{ReplicaId(0)}}).replicas, IsEmpty()) << "the other rank still runs a request";
  EXPECT_THAT(book.Vacate({{ReplicaId(0), ReplicaId(1)}}).replicas, ElementsAre(0u, 1u));
}

TEST(FleetPlaces, APoolWithLeasesAndAConfiguredGpuStay) {
  const std::string gpus = "gpus: [{id: g0, kind: a100-80}]\n";
  FleetBook book(
      ParsedPlaces(gpus + "replicas: [{id: a, url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 8GB}]"));
  book.Update(ParsedPlaces(gpus + "replicas: [{id: b, url: http://h:2, model: llama-3.1-8b, kv_tokens: 1000}]"));
  const Vacated places = book.Vacate({{ReplicaId(0)}, {false, true}});
  EXPECT_THAT(places.replicas, ElementsAre(0u));
  EXPECT_THAT(places.pools, IsEmpty());
  EXPECT_THAT(places.gpus, IsEmpty());
  EXPECT_THAT(book.Vacate({{}, {true, true}}).pools, ElementsAre(0u)) << "its last lease has ended";
}

// A replica of this model, a model that nobody serves, and a class.
Config Named(const std::string& model, const std::string& service_class) {
  return ParsedPlaces(absl::StrCat("models: [{name: idle-", model, ", shape: llama-3.1-8b}, {name: ", model,
                                   ", shape: llama-3.1-8b}]\nclasses: {", service_class,
                                   ": {ttft: 1s, tpot: 1s, queue: 1m}}\n",
                                   "replicas: [{id: a, url: http://h:1, model: ", model, ", kv_tokens: 100k}]"));
}

TEST(FleetPlaces, ModelsAndClassesThatAReloadDropsGiveTheirPlacesBack) {
  FleetBook book(Named("m0", "c0"));
  const Fleet first = book.fleet();
  for (int i = 1; i <= 200; ++i) {
    book.Update(Named(absl::StrCat("m", i), absl::StrCat("c", i)));
    book.Offer(VacateAll(book));
  }
  EXPECT_LE(book.fleet().models.size(), 2 * first.models.size());
  EXPECT_LE(book.fleet().classes.size(), first.classes.size() + 1);
  EXPECT_EQ(book.fleet().models[book.ModelByName("m200")->value()].name, "m200");
  EXPECT_EQ(book.fleet().models[book.ModelByName("idle-m200")->value()].name, "idle-m200");
  EXPECT_EQ(book.fleet().classes[book.ClassByName("c200")->value()].name, "c200");
  EXPECT_EQ(book.ModelByName("m199"), std::nullopt);
  EXPECT_EQ(book.ClassByName(""), std::nullopt) << "a vacant place has no name";
}

TEST(FleetPlaces, AModelOrClassStaysWhileTheBookNamesIt) {
  FleetBook book(Named("m0", "c0"));
  EXPECT_TRUE(VacateAll(book).empty());
  book.Update(Named("m1", "c1"));
  const std::optional<ClassId> before = book.ClassByName("c0");
  book.Update(Named("m0", "c0"));
  EXPECT_EQ(book.ClassByName("c0"), before) << "it comes back to its place";
  const Vacated places = VacateAll(book);
  EXPECT_EQ(places.models.size(), 2u);
  EXPECT_EQ(places.classes.size(), 1u);
  EXPECT_EQ(book.ModelByName("m1"), std::nullopt);
  EXPECT_TRUE(book.ModelByName("m0"));
}

TEST(FleetPlaces, AModelOfARemovedReplicaStaysUntilThatIsVacant) {
  FleetBook book(OneReplica("a", "http://h:1"));
  book.Update(ParsedPlaces("replicas: [{id: b, url: http://h:2, model: qwen2.5-7b, kv_tokens: 100k}]"));
  EXPECT_THAT(book.Vacate({{}, {}, {0}}).models, IsEmpty()) << "leases of the removed replica live on";
  EXPECT_THAT(book.Vacate({{ReplicaId(0)}, {}, {0}}).models, ElementsAre(0u));
}

TEST(FleetPlaces, ANewClassNeverStandsAboveOneThatIsMoreUrgent) {
  const auto classes = [](const std::string& one, const std::string& other) {
    const std::string goals = ": {ttft: 1s, tpot: 1s, queue: 1m}";
    return ParsedPlaces(absl::StrCat("classes: {", one, goals, ", ", other, goals,
                                     "}\nreplicas: [{id: a, url: http://h:1, model: m, kv_tokens: 100k}]"));
  };
  FleetBook book(classes("first", "second"));
  const ClassId second = *book.ClassByName("second");
  book.Update(classes("second", "third"));
  book.Offer(VacateAll(book));
  book.Update(classes("second", "fourth"));
  EXPECT_LT(second, *book.ClassByName("fourth")) << "the free place above is not for it";
  book.Update(classes("urgent", "second"));
  EXPECT_LT(*book.ClassByName("urgent"), second) << "the free place above is for it";
}

}  // namespace
}  // namespace penstock
