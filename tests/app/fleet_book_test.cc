#include "router/fleet/fleet_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/fleet/tenants.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Config Parsed(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}

const char kTwoReplicas[] =
    "gpus: [{id: g0, kind: a100-80}]\n"
    "replicas:\n"
    "  - {id: a, url: http://h:1, gpus: [g0], model: llama-3.1-8b, kv_memory: 18GB}\n"
    "  - {id: b, url: http://h:2, gpus: [g0], model: qwen2.5-7b, kv_tokens: 100k}\n";

Discovery Vllm(std::vector<ServedModel> models, int64_t kv_tokens = 0) {
  Discovery discovery;
  discovery.kind = EngineKind::kVllm;
  discovery.models = std::move(models);
  discovery.kv_tokens = Tokens(kv_tokens);
  discovery.block = Tokens(16);
  return discovery;
}

const PoolSpec& PoolOf(const FleetBook& book, uint32_t replica) {
  return book.fleet().pools[book.fleet().replicas[replica].pools.at(0).pool.value()];
}

TEST(FleetBook, AReplicaWithModelAndCapacityIsCompleteBeforeDiscovery) {
  const FleetBook book(Parsed(kTwoReplicas));
  const Fleet& fleet = book.fleet();
  ASSERT_EQ(fleet.replicas.size(), 2u);
  EXPECT_EQ(fleet.replicas[0].models, std::vector{*book.ModelByName("llama-3.1-8b")});
  EXPECT_EQ(PoolOf(book, 0).name, "a");
  EXPECT_TRUE(PoolOf(book, 0).in_bytes);
  const int64_t block = int64_t{131072} * 16;
  EXPECT_EQ(PoolOf(book, 0).capacity.value(), 18'000'000'000 / block * block);
  EXPECT_EQ(PoolOf(book, 1).capacity.value(), 100'000 * int64_t{57344});
  EXPECT_EQ(fleet.replicas[0].pools[0].footprint.full_per_token, 131072);
  EXPECT_EQ(fleet.replicas[0].gpus, fleet.replicas[1].gpus);
  EXPECT_TRUE(fleet.replicas[0].prior_known);
  EXPECT_EQ(fleet.replicas[0].max_context, Tokens(131072));
}

TEST(FleetBook, TheTenantsAreThoseOfThePresentConfiguration) {
  Config config = *ConfigFromUrls("127.0.0.1:0", {"http://h:1"});
  TenantConfig limited;
  limited.name = "small";
  limited.weight = 2;
  limited.tokens_per_minute = 6000;
  limited.max_concurrent = 3;
  TenantConfig free;
  free.name = "free";
  config.tenants = {limited, free};
  FleetBook book(config);
  EXPECT_THAT(book.fleet().tenants, ElementsAre(TenantSpec{TenantIdOf("small"), "small", 2, {Tokens(6000), 3}},
                                                TenantSpec{TenantIdOf("free"), "free", 1, {}}));
  config.tenants = {free};
  book.Update(config);
  EXPECT_THAT(book.fleet().tenants, ElementsAre(TenantSpec{TenantIdOf("free"), "free", 1, {}}));
}

TEST(FleetBook, AReplicaOfAUrlAloneHasNoModelAndNoPoolUntilItIsDiscovered) {
  FleetBook book(*ConfigFromUrls("127.0.0.1:0", {"http://h:1"}));
  EXPECT_THAT(book.fleet().replicas[0].models, IsEmpty());
  EXPECT_THAT(book.fleet().replicas[0].pools, IsEmpty());
  EXPECT_FALSE(book.fleet().replicas[0].prior_known);
  EXPECT_TRUE(book.unheard().decisive);
  Discovery found = Vllm({{"meta-llama/Llama-3.1-8B-Instruct", Tokens(32768)}}, 100'000);
  found.max_sequences = 64;
  found.batch_budget = Tokens(8192);
  book.SetDiscovery(ReplicaId(0), found);
  const ReplicaSpec& replica = book.fleet().replicas[0];
  EXPECT_FALSE(book.unheard().decisive);
  EXPECT_EQ(PoolOf(book, 0).capacity.value(), 100'000 * int64_t{131072});
  EXPECT_EQ(replica.max_context, Tokens(32768));
  EXPECT_EQ(replica.max_sequences, 64);
  EXPECT_EQ(replica.batch_budget, Tokens(8192));
  EXPECT_THAT(book.ModelNames(), ElementsAre("meta-llama/Llama-3.1-8B-Instruct"));
  EXPECT_EQ(book.MaxContext(ModelId(0)), Tokens(32768));
}

TEST(FleetBook, PoolsOfUnknownShapesAreKeptInTokensOfTheEnginesBlocks) {
  FleetBook book(*ConfigFromUrls("127.0.0.1:0", {"http://h:1"}));
  book.SetDiscovery(ReplicaId(0), Vllm({{"house-model", Tokens(4096)}}, 50'000));
  EXPECT_FALSE(PoolOf(book, 0).in_bytes);
  EXPECT_EQ(PoolOf(book, 0).capacity.value(), 50'000);
  EXPECT_EQ(book.fleet().replicas[0].pools[0].footprint, Footprint::InTokens(Tokens(16)));
}

TEST(FleetBook, LlamaServersCountSingleTokensAndMayLoseEveryRequestOnOverflow) {
  FleetBook book(*ConfigFromUrls("127.0.0.1:0", {"http://h:1"}));
  Discovery found;
  found.kind = EngineKind::kLlamaCpp;
  found.models = {{"/models/house.gguf", Tokens(8192)}};
  found.kv_tokens = Tokens(8192);
  found.sequence_limit = Tokens(4096);
  found.overflow_fatal = true;
  book.SetDiscovery(ReplicaId(0), found);
  EXPECT_TRUE(PoolOf(book, 0).overflow_fatal);
  EXPECT_EQ(book.fleet().replicas[0].pools[0].footprint.block, Tokens(1));
  EXPECT_EQ(book.fleet().replicas[0].max_context, Tokens(4096));
  EXPECT_EQ(book.fleet().replicas[0].max_sequences, 4);
}

TEST(FleetBook, TheConfigurationAcceptsEveryEngineOfTheCatalogue) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    const Config config = Parsed(std::string("replicas: [{id: a, url: http://h:1, engine: ") + engine->name + "}]\n");
    ASSERT_EQ(config.replicas.size(), 1u) << engine->name;
    EXPECT_EQ(config.replicas[0].engine, engine->name);
  }
}

TEST(FleetBook, EachEngineHoldsMemoryAfterACancelAsItDeclares) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    FleetBook book(Parsed(kTwoReplicas));
    Discovery found = Vllm({{"llama-3.1-8b", Tokens(32768)}});
    found.kind = engine->kind;
    EXPECT_EQ(book.fleet().replicas[0].abort_hold, Duration()) << "no engine is recognised yet";
    book.SetDiscovery(ReplicaId(0), found);
    EXPECT_EQ(book.fleet().replicas[0].abort_hold, engine->capabilities.abort_memory_hold) << engine->name;
  }
}

TEST(FleetBook, ConfiguredValuesOverrideDiscovery) {
  FleetBook book(
      Parsed("replicas: [{id: a, url: http://h:1, model: llama-3.1-8b, kv_tokens: 10k, max_context: 4k, block: 32, "
             "max_seqs: 8, "
             "max_batched_tokens: 512}]\n"));
  Discovery found = Vllm({{"llama-3.1-8b", Tokens(32768)}}, 100'000);
  found.max_sequences = 64;
  found.batch_budget = Tokens(8192);
  book.SetDiscovery(ReplicaId(0), found);
  const ReplicaSpec& replica = book.fleet().replicas[0];
  EXPECT_EQ(PoolOf(book, 0).capacity.value(), 10'000 * int64_t{131072});
  EXPECT_EQ(replica.pools[0].footprint.block, Tokens(32));
  EXPECT_EQ(replica.max_context, Tokens(4000));
  EXPECT_EQ(replica.max_sequences, 8);
  EXPECT_EQ(replica.batch_budget, Tokens(512));
}

TEST(FleetBook, AnEnginesContextMayExceedTheModelsOwn) {
  FleetBook book(Parsed("replicas: [{id: a, url: http://h:1, model: qwen2.5-7b}]\n"));
  EXPECT_EQ(book.fleet().replicas[0].max_context, Tokens(32768));
  book.SetDiscovery(ReplicaId(0), Vllm({{"qwen2.5-7b", Tokens(131072)}}, 200'000));
  EXPECT_EQ(book.fleet().replicas[0].max_context, Tokens(131072));
}

TEST(FleetBook, NamesAliasesAndServedNamesLeadToOneModel) {
  FleetBook book(
      Parsed("models: [{name: chat, shape: llama-3.1-8b, aliases: [chat-small]}]\n"
             "replicas: [{id: a, url: http://h:1, model: chat-small}, {id: b, url: http://h:2}]\n"));
  const ModelId chat = *book.ModelByName("chat");
  EXPECT_EQ(book.ModelByName("chat-small"), chat);
  EXPECT_EQ(book.ModelByName("served/chat"), std::nullopt);
  book.SetDiscovery(ReplicaId(0), Vllm({{"served/chat", Tokens(8192)}}));
  book.SetDiscovery(ReplicaId(1), Vllm({{"chat-small", Tokens(8192)}}));
  EXPECT_EQ(book.ModelByName("served/chat"), chat);
  EXPECT_EQ(book.EngineModelName(ReplicaId(0), chat), "served/chat");
  EXPECT_EQ(book.EngineModelName(ReplicaId(1), chat), "chat-small");
  EXPECT_THAT(book.ModelNames(), ElementsAre("chat", "chat-small"));
  EXPECT_EQ(book.ModelByName("nobody"), std::nullopt);
}

TEST(FleetBook, AdaptersAreModelsOfTheirOwnOnTheBasesPool) {
  FleetBook book(Parsed("replicas: [{id: a, url: http://h:1, model: llama-3.1-8b, kv_tokens: 10k}]\n"));
  book.SetDiscovery(ReplicaId(0), Vllm({{"sql-lora", Tokens(0)}, {"llama-3.1-8b", Tokens(8192)}}));
  const ReplicaSpec& replica = book.fleet().replicas[0];
  EXPECT_THAT(replica.models, ElementsAre(*book.ModelByName("llama-3.1-8b"), *book.ModelByName("sql-lora")));
  EXPECT_EQ(replica.pools.size(), 1u);
  EXPECT_EQ(book.EngineModelName(ReplicaId(0), *book.ModelByName("sql-lora")), "sql-lora");
  EXPECT_EQ(book.MaxContext(*book.ModelByName("sql-lora")), Tokens(8192));
}

TEST(FleetBook, AReloadKeepsIdsAndLeavesTombstones) {
  FleetBook book(Parsed(kTwoReplicas));
  book.SetDiscovery(ReplicaId(1), Vllm({{"qwen2.5-7b", Tokens(4096)}}));
  const Fleet before = book.fleet();
  book.Update(
      Parsed("gpus: [{id: g0, kind: a100-80}]\nreplicas:\n"
             "  - {id: c, url: http://h:3, gpus: [g0], model: llama-3.1-8b, kv_memory: 6GB}\n"
             "  - {id: b, url: http://h:2, gpus: [g0], model: qwen2.5-7b, kv_tokens: 50k}\n"));
  const Fleet& after = book.fleet();
  ASSERT_EQ(after.replicas.size(), 3u);
  EXPECT_TRUE(after.replicas[0].removed);
  EXPECT_EQ(after.replicas[0].pools, before.replicas[0].pools);
  EXPECT_EQ(book.ReplicaByName("a"), std::nullopt);
  EXPECT_EQ(book.ReplicaByName("b"), ReplicaId(1));
  EXPECT_EQ(book.ReplicaByName("c"), ReplicaId(2));
  EXPECT_TRUE(book.known(ReplicaId(1)).discovery.has_value());
  EXPECT_EQ(PoolOf(book, 1).capacity.value(), 50'000 * int64_t{57344});
  EXPECT_EQ(after.models.size(), before.models.size());
}

TEST(FleetBook, ANewUrlIsANewReplicaAndTheOldOneReturnsToItsId) {
  FleetBook book(Parsed("replicas: [{id: a, url: http://h:1}]\n"));
  book.SetDiscovery(ReplicaId(0), Vllm({{"m", Tokens(4096)}}));
  book.Update(Parsed("replicas: [{id: a, url: http://h:2}]\n"));
  EXPECT_EQ(book.ReplicaByName("a"), ReplicaId(1));
  EXPECT_FALSE(book.known(ReplicaId(0)).discovery.has_value());
  EXPECT_THAT(book.ModelNames(), IsEmpty());
  book.Update(Parsed("replicas: [{id: a, url: http://h:1}]\n"));
  EXPECT_EQ(book.ReplicaByName("a"), ReplicaId(0));
  EXPECT_FALSE(book.fleet().replicas[0].removed);
  EXPECT_TRUE(book.fleet().replicas[1].removed);
}

TEST(FleetBook, ElasticPoolsBelongToTheGpu) {
  const FleetBook book(
      Parsed("gpus: [{id: g0, kind: a100-80, elastic_kv: 40GB, sharing: mps}]\n"
             "replicas: [{url: http://h:1, gpus: [g0], model: llama-3.1-8b}, {url: http://h:2, gpus: [g0], model: "
             "qwen2.5-7b}]\n"));
  ASSERT_EQ(book.fleet().pools.size(), 1u);
  EXPECT_EQ(book.fleet().pools[0].name, "g0");
  EXPECT_EQ(book.fleet().pools[0].capacity.value(), 40'000'000'000);
  EXPECT_EQ(book.fleet().replicas[0].pools[0].footprint.full_per_token, 131072);
  EXPECT_EQ(book.fleet().replicas[1].pools[0].footprint.full_per_token, 57344);
  EXPECT_FALSE(book.fleet().replicas[0].time_sliced);
}

TEST(FleetBook, TensorParallelReplicasHaveAPoolOnEachGpu) {
  const FleetBook book(
      Parsed("gpus: [{id: g0, kind: h100}, {id: g1, kind: h100}]\n"
             "replicas: [{id: big, url: http://h:1, gpus: [g0, g1], model: llama-3.1-70b, kv_tokens: 50k}]\n"));
  ASSERT_EQ(book.fleet().pools.size(), 2u);
  EXPECT_EQ(book.fleet().pools[0].name, "big@g0");
  EXPECT_EQ(book.fleet().pools[1].name, "big@g1");
  EXPECT_EQ(book.fleet().pools[0].capacity.value(), 50'000 * int64_t{163840});
  EXPECT_EQ(book.fleet().replicas[0].gpus.size(), 2u);
}

TEST(FleetBook, SimulatedReplicasWithoutASizeTakeTheDefaultAndTheirScaledPace) {
  const std::string yaml =
      "gpus: [{id: g0, kind: a100-80}]\n"
      "replicas: [{id: a, gpus: [g0], model: llama-3.1-8b, simulated: {time_scale: 10, max_seqs: 32, overflow: "
      "error}}]\n";
  const FleetBook book(Parsed(yaml));
  const ReplicaSpec& replica = book.fleet().replicas[0];
  EXPECT_NEAR(PoolOf(book, 0).capacity.AsDouble(), 0.92 * 80e9 - 16.06e9 - 4e9, 2e6);
  EXPECT_TRUE(PoolOf(book, 0).overflow_fatal);
  EXPECT_EQ(replica.max_sequences, 32);
  EXPECT_FALSE(book.unheard().decisive);
  const StepCoefficients prior = StepPrior(*FindGpuKind("a100-80"), *FindBuiltinShape("llama-3.1-8b"), {});
  EXPECT_DOUBLE_EQ(replica.prior.a, prior.a / 10);
  EXPECT_DOUBLE_EQ(replica.prior.e, prior.e / 10);
}

TEST(FleetBook, ReplicasWithoutGpusHaveOneOfTheirOwn) {
  const FleetBook book(*ConfigFromUrls("127.0.0.1:0", {"http://h:1", "http://h:2"}));
  EXPECT_EQ(book.fleet().replicas[0].gpus.size(), 1u);
  EXPECT_NE(book.fleet().replicas[0].gpus, book.fleet().replicas[1].gpus);
}

TEST(FleetBook, ClassesKeepTheirPlaceAcrossReloads) {
  const std::string replica = "replicas: [{url: http://h:1}]\n";
  FleetBook book(Parsed(replica + "classes: {extra: {ttft: 2h, tpot: 1s, queue: 1s, default: true}}\n"));
  EXPECT_EQ(book.ClassByName("extra"), ClassId(3));
  EXPECT_EQ(book.default_class(), ClassId(3));
  book.Update(Parsed(replica + "classes: {standard: {ttft: 9s}}\n"));
  EXPECT_EQ(book.fleet().classes.size(), 4u);
  EXPECT_EQ(book.default_class(), ClassId(1));
  EXPECT_EQ(book.fleet().classes[1].ttft, Duration::Seconds(9));
  EXPECT_TRUE(book.fleet().classes[1].refuse_late);
  EXPECT_FALSE(book.fleet().classes[0].refuse_late);
}

}  // namespace
}  // namespace penstock
