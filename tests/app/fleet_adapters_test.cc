// Adapters in the fleet book: those that engines list, and those of the configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Config AdapterConfigOf(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

Discovery Listing(std::vector<ServedModel> models, EngineKind kind = EngineKind::kVllm) {
  Discovery discovery;
  discovery.kind = kind;
  discovery.models = std::move(models);
  return discovery;
}

const ServedModel kBaseCard{"llama-3.1-8b", Tokens(8192), "", ""};
const ServedModel kSqlCard{"sql", Tokens(8192), "llama-3.1-8b", "/adapters/sql"};

constexpr char kOnDemand[] =
    "adapters: [{name: sql, path: /adapters/sql, model: llama-3.1-8b, load: 500ms}]\n"
    "replicas:\n"
    "  - {id: a, url: http://h:1, model: llama-3.1-8b, max_adapters: 3}\n"
    "  - {id: b, url: http://h:2, model: qwen2.5-7b}\n";

TEST(FleetAdapters, AListedAdapterSharesTheReplicaOfItsBase) {
  FleetBook book(AdapterConfigOf("replicas: [{id: a, url: http://h:1}]"));
  book.SetDiscovery(ReplicaId(0), Listing({kBaseCard, kSqlCard}));
  const std::optional<ModelId> base = book.ModelByName("llama-3.1-8b");
  const std::optional<ModelId> sql = book.ModelByName("sql");
  ASSERT_TRUE(base && sql);
  EXPECT_EQ(book.fleet().models[sql->value()].base, base);
  EXPECT_EQ(book.fleet().models[base->value()].base, std::nullopt);
  EXPECT_THAT(book.fleet().replicas[0].models, ElementsAre(*base, *sql));
  EXPECT_THAT(book.fleet().replicas[0].adapters.on_demand, IsEmpty()) << "nobody configured it: it is just there";
  EXPECT_EQ(book.WordsOf(*sql).root, "/adapters/sql");
  EXPECT_EQ(book.MaxContext(*sql), Tokens(8192));
}

TEST(FleetAdapters, AConfiguredAdapterIsOfferedByTheReplicasOfItsBase) {
  FleetBook book(AdapterConfigOf(kOnDemand));
  EXPECT_EQ(book.ModelByName("sql"), std::nullopt) << "no engine is known to load it";
  book.SetDiscovery(ReplicaId(0), Listing({kBaseCard}));
  const std::optional<ModelId> sql = book.ModelByName("sql");
  ASSERT_TRUE(sql);
  const AdapterSpec& spec = book.fleet().replicas[0].adapters;
  EXPECT_THAT(spec.on_demand, ElementsAre(*sql));
  EXPECT_EQ(spec.most, 3);
  EXPECT_EQ(spec.load, Duration::Milliseconds(500));
  EXPECT_EQ(spec.timeout, Duration::Seconds(60));
  EXPECT_FALSE(book.fleet().replicas[1].Serves(*sql)) << "another base";
  EXPECT_EQ(book.EngineModelName(ReplicaId(0), *sql), "sql");
}

TEST(FleetAdapters, AnEngineThatCannotLoadOffersNone) {
  FleetBook book(AdapterConfigOf(kOnDemand));
  book.SetDiscovery(ReplicaId(0), Listing({kBaseCard}, EngineKind::kLlamaCpp));
  EXPECT_EQ(book.ModelByName("sql"), std::nullopt);
}

TEST(FleetAdapters, ARivalOfPenstockOrdersNoLoads) {
  FleetBook book(AdapterConfigOf(std::string("policy: round_robin\n") + kOnDemand));
  book.SetDiscovery(ReplicaId(0), Listing({kBaseCard, kSqlCard}));
  EXPECT_TRUE(book.ModelByName("sql")) << "the engine has it";
  EXPECT_THAT(book.fleet().replicas[0].adapters.on_demand, IsEmpty());
}

TEST(FleetAdapters, OneThatVanishedIsNoModelAnyMore) {
  FleetBook book(AdapterConfigOf("replicas: [{id: a, url: http://h:1}]"));
  book.SetDiscovery(ReplicaId(0), Listing({kBaseCard, kSqlCard}));
  book.SetDiscovery(ReplicaId(0), Listing({kBaseCard}));
  EXPECT_EQ(book.ModelByName("sql"), std::nullopt);
  EXPECT_THAT(book.ModelNames(), ElementsAre("llama-3.1-8b"));
}

TEST(FleetAdapters, MistakesInTheConfigurationAreNamed) {
  const auto error = [](const std::string& adapters) {
    const auto config = ParseConfig(
        "models: [{name: base, aliases: [chat]}]\nreplicas: [{id: a, url: http://h:1, model: base}]\nadapters:\n" +
            adapters,
        "f.yaml");
    return std::string(config.status().message());
  };
  EXPECT_EQ(error("  - {name: sql, path: /p, model: chat}\n"), "");
  EXPECT_THAT(error("  - {name: sql, path: /p, model: other}\n"), testing::HasSubstr("no replica has the model"));
  EXPECT_THAT(error("  - {name: chat, path: /p, model: base}\n"), testing::HasSubstr("is a model already"));
  EXPECT_THAT(error("  - {name: s, path: /p, model: base}\n  - {name: s, path: /q, model: base}\n"),
              testing::HasSubstr("is already the name of adapters[0]"));
  EXPECT_THAT(error("  - {name: s, path: /p, model: base, load: 2m}\n"),
              testing::HasSubstr("must be longer than load"));
}

}  // namespace
}  // namespace penstock
