// Fleets whose engines answer one after another: the work, and the same result as from all answers at once.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

Config GrownConfig(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

std::string ManyReplicas(int count, const std::string& more) {
  std::string yaml = "replicas:\n";
  for (int i = 0; i < count; ++i) absl::StrAppend(&yaml, "  - {id: r", i, ", url: http://h:", i + 1, more, "}\n");
  return yaml;
}

Discovery ManyModels(int count) {
  Discovery discovery;
  discovery.kind = EngineKind::kVllm;
  discovery.kv_tokens = Tokens(100'000);
  for (int i = 0; i < count; ++i) {
    discovery.models.push_back({absl::StrCat("model-", i), Tokens(8192), i == 0 ? "" : "model-0", ""});
  }
  return discovery;
}

TEST(FleetGrowth, TheWorkOfAStartGrowsWithTheModelsOfEachReplicaOnly) {
  constexpr int kReplicas = 256, kModels = 500;
  for (const std::string more : {"", ", model: model-0"}) {
    FleetBook book(GrownConfig(ManyReplicas(kReplicas, more)));
    const int64_t before = book.models().entered();
    for (uint32_t i = 0; i < kReplicas; ++i) book.SetDiscovery(ReplicaId(i), ManyModels(kModels));
    EXPECT_EQ(book.models().entered() - before, kReplicas * kModels);
    // The same answers again, as after a restart of the engines.
    for (uint32_t i = 0; i < kReplicas; ++i) book.SetDiscovery(ReplicaId(i), ManyModels(kModels));
    EXPECT_EQ(book.models().entered() - before, 2 * kReplicas * kModels);
    EXPECT_EQ(book.EngineModelName(ReplicaId(7), *book.ModelByName("model-499")), "model-499");
    EXPECT_EQ(book.MaxContext(*book.ModelByName("model-499")), Tokens(8192));
  }
}

TEST(FleetGrowth, AnEngineThatListsOtherModelsEachTimeLeavesRoomForTheNamesOfOthers) {
  FleetBook book(GrownConfig(ManyReplicas(2, "")));
  constexpr int kRounds = 30, kNames = 1000;
  for (int round = 0; round < kRounds; ++round) {
    Discovery listed = ManyModels(0);
    for (int i = 0; i < kNames; ++i) {
      listed.models.push_back({absl::StrCat("fresh-", round, "-", i), Tokens(8192), "", ""});
    }
    book.SetDiscovery(ReplicaId(0), listed);
  }
  EXPECT_LE(book.fleet().models.size(), 2000u);
  book.SetDiscovery(ReplicaId(1), ManyModels(2));
  EXPECT_TRUE(book.ModelByName("model-1"));
  // Its early names are known as before.
  Discovery early = ManyModels(0);
  early.models.push_back({"fresh-0-1", Tokens(8192), "", ""});
  book.SetDiscovery(ReplicaId(0), early);
  EXPECT_TRUE(book.ModelByName("fresh-0-1"));
}

TEST(FleetGrowth, AnEngineThatListsOtherModelsEachTimeGetsRoomForThoseThatLeft) {
  FleetBook book(GrownConfig(ManyReplicas(1, "")));
  const auto listed = [](int round) {
    Discovery found = ManyModels(0);
    for (int i = 0; i < 1900; ++i) {
      found.models.push_back({absl::StrCat("fresh-", round, "-", i), Tokens(8192), "", ""});
    }
    return found;
  };
  for (int round = 0; round < 10; ++round) {
    book.SetDiscovery(ReplicaId(0), listed(round));
    EXPECT_EQ(book.ModelByName(absl::StrCat("fresh-", round, "-1899")).has_value(), round == 0);
    QuietPlaces quiet;
    for (uint32_t i = 0; i < book.fleet().models.size(); ++i) quiet.models.push_back(i);
    const Vacated places = book.Vacate(quiet);
    EXPECT_TRUE(book.ModelByName(absl::StrCat("fresh-", round, "-1899"))) << round;
    book.Offer(places);
  }
  EXPECT_LE(book.fleet().models.size(), 5000u);
}

// A fleet with shared pools, aliases, adapters and unknown replicas.
constexpr char kMixed[] =
    "gpus: [{id: g0, kind: a100-80, elastic_kv: 20GB}]\n"
    "models: [{name: llama-3.1-8b, aliases: [chat, small]}]\n"
    "adapters: [{name: sql, path: /adapters/sql, model: llama-3.1-8b}]\n"
    "replicas:\n"
    "  - {id: a, url: http://h:1, gpus: [g0], model: chat}\n"
    "  - {id: b, url: http://h:2, gpus: [g0], model: llama-3.1-8b, kv_tokens: 10k}\n"
    "  - {id: c, url: http://h:3}\n"
    "  - {id: d, url: http://h:4, model: qwen2.5-7b, max_context: 4096}\n"
    "  - {id: e, url: http://h:5}\n";

Discovery Drawn(std::mt19937& draw) {
  const auto below = [&](int bound) { return static_cast<int>(draw() % static_cast<unsigned>(bound)); };
  const std::vector<std::string> names = {"llama-3.1-8b", "chat", "house", "sql", "qwen2.5-7b", "served"};
  Discovery discovery;
  discovery.kind = below(3) == 0 ? EngineKind::kLlamaCpp : EngineKind::kVllm;
  discovery.overflow_fatal = discovery.kind == EngineKind::kLlamaCpp;
  discovery.kv_tokens = Tokens(below(3) * 10'000);
  discovery.max_sequences = below(2) * 64;
  for (const std::string& name : names) {
    if (below(3) != 0) continue;
    discovery.models.push_back({name, Tokens(below(3) * 4096), below(3) == 0 ? names[below(6)] : "", ""});
  }
  for (int rank = 0, ranks = below(8) == 0 ? 2 : 0; rank < ranks; ++rank) {
    discovery.ranks.push_back({rank, Tokens(5000)});
  }
  return discovery;
}

// The book that has all answers of this one, and has built its fleet from all of them at once.
FleetBook BuiltAnew(const FleetBook& book) {
  FleetBook anew = book;
  anew.Update(book.config());
  return anew;
}

TEST(FleetGrowth, AnswersOneByOneMakeTheSameFleetAsAllAtOnce) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 draw(seed);
    FleetBook book(GrownConfig(kMixed));
    for (int step = 0; step < 12; ++step) {
      const auto replica = static_cast<uint32_t>(draw() % 5);
      book.SetDiscovery(ReplicaId(replica), Drawn(draw));
      const FleetBook anew = BuiltAnew(book);
      const Fleet &one = book.fleet(), &all = anew.fleet();
      for (size_t i = 0; i < one.models.size() && i < all.models.size(); ++i) {
        ASSERT_EQ(one.models[i], all.models[i]) << one.models[i].name << ", seed " << seed << ", step " << step;
      }
      for (size_t i = 0; i < one.pools.size() && i < all.pools.size(); ++i) {
        ASSERT_EQ(one.pools[i], all.pools[i]) << one.pools[i].name << ", seed " << seed << ", step " << step;
      }
      ASSERT_EQ(one.replicas, all.replicas) << "seed " << seed << ", step " << step;
      ASSERT_EQ(one, all) << "seed " << seed << ", step " << step;
      ASSERT_EQ(book.ModelNames(), anew.ModelNames()) << "seed " << seed << ", step " << step;
      for (const ModelSpec& model : anew.fleet().models) {
        const std::optional<ModelId> id = anew.ModelByName(model.name);
        ASSERT_EQ(book.ModelByName(model.name), id) << model.name << ", seed " << seed << ", step " << step;
        if (!id) continue;
        ASSERT_EQ(book.MaxContext(*id), anew.MaxContext(*id)) << model.name << ", seed " << seed << ", step " << step;
        for (uint32_t replica = 0; replica < anew.fleet().replicas.size(); ++replica) {
          ASSERT_EQ(book.EngineModelName(ReplicaId(replica), *id), anew.EngineModelName(ReplicaId(replica), *id));
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
