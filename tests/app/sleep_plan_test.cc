// The sleep of a replica as its configuration and its engine allow it.
#include "router/fleet/sleep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/fleet/fleet_book.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

Config Read(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml, "f.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : Config{};
}
Config Sleeping(const std::string& more = "model: llama-3.1-8b, kv_memory: 10GB") {
  return Read("gpus: [{id: g, kind: a100-80, memory: 80GB}]\nreplicas: [{id: a, url: http://h:1, gpus: [g], " + more +
              ", sleep: {after: 30s, wake: 2s, level: 1}}]\n");
}
Discovery Found(EngineKind kind) {
  Discovery found;
  found.kind = kind;
  found.models = {{"llama-3.1-8b", Tokens(4096)}};
  return found;
}
std::string FaultOf(EngineKind kind, bool verbs_off = false, const std::string& more = "model: llama-3.1-8b") {
  KnownReplica replica{Sleeping(more).replicas[0], Found(kind)};
  replica.discovery->sleep_verbs_off = verbs_off;
  replica.discovery->process_per_model = kind == EngineKind::kLlamaCpp && !verbs_off;
  return SleepFault(replica);
}

TEST(SleepPlan, EnginesWithTheirRequestsMaySleep) {
  for (const EngineKind kind : {EngineKind::kVllm, EngineKind::kSglang, EngineKind::kLlamaCpp, EngineKind::kOllama}) {
    EXPECT_EQ(FaultOf(kind), "");
  }
}

TEST(SleepPlan, TheFaultTellsTheOperatorWhatToDo) {
  EXPECT_THAT(FaultOf(EngineKind::kTgi), HasSubstr("engines of the kind tgi have no request for it; give by: command"));
  EXPECT_THAT(FaultOf(EngineKind::kOpenAi), HasSubstr("give by: command"));
  EXPECT_THAT(FaultOf(EngineKind::kVllm, true), HasSubstr("start vLLM with VLLM_SERVER_DEV_MODE=1"));
  EXPECT_THAT(FaultOf(EngineKind::kSglang, true), HasSubstr("--enable-memory-saver"));
  EXPECT_THAT(FaultOf(EngineKind::kLlamaCpp, true), HasSubstr("start llama-server without a model"));
  EXPECT_THAT(FaultOf(EngineKind::kOllama, false, "max_seqs: 4"), HasSubstr("needs the key model: ollama"));
}

TEST(SleepPlan, AnEngineThatIsFoundToHaveRanksStaysAwake) {
  FleetBook book(Sleeping());
  Discovery found = Found(EngineKind::kVllm);
  found.ranks = {{0, Tokens(1000)}};
  book.SetDiscovery(ReplicaId(0), found);
  EXPECT_TRUE(book.fleet().replicas[0].sleep.has_value()) << "one rank is the engine itself";
  found.ranks = {{0, Tokens(1000)}, {1, Tokens(1000)}};
  EXPECT_THAT(SleepFault({Sleeping().replicas[0], found}), HasSubstr("its engine has ranks"));
  book.SetDiscovery(ReplicaId(0), found);
  ASSERT_EQ(book.fleet().replicas.size(), 2u);
  for (const ReplicaSpec& rank : book.fleet().replicas) EXPECT_FALSE(rank.sleep.has_value()) << rank.name;
}

TEST(SleepPlan, AConfiguredEngineThatCannotSleepIsAWarning) {
  const auto of = [](const std::string& engine, const std::string& sleep = "{}") {
    return SleepKindWarnings(
        Read("replicas: [{id: a, url: http://h:1, model: m, engine: " + engine + ", sleep: " + sleep + "}]\n"));
  };
  EXPECT_THAT(of("tgi"),
              ::testing::ElementsAre("replicas: a: it can never sleep: engines of the kind tgi have no request "
                                     "for it; give by: command, start and stop"));
  EXPECT_THAT(of("tgi", "{by: command, start: up, stop: down}"), ::testing::IsEmpty());
  EXPECT_THAT(of("vllm"), ::testing::IsEmpty());
  EXPECT_THAT(of("auto"), ::testing::IsEmpty()) << "nobody knows yet";
}

TEST(SleepPlan, CommandsNeedNoEngineThatAnswers) {
  const Config config =
      Read("replicas: [{id: a, url: http://h:1, model: m, sleep: {wake: 9s, by: command, start: up, stop: down}}]\n");
  const FleetBook book(config);
  ASSERT_TRUE(book.fleet().replicas[0].sleep.has_value());
  EXPECT_EQ(book.fleet().replicas[0].sleep->wake, Duration::Seconds(9));
}

TEST(SleepPlan, TheCoreLearnsOfASleepOnceTheEngineIsKnown) {
  FleetBook book(Sleeping());
  EXPECT_FALSE(book.fleet().replicas[0].sleep.has_value());
  book.SetDiscovery(ReplicaId(0), Found(EngineKind::kVllm));
  EXPECT_EQ(book.fleet().replicas[0].sleep, (SleepSpec{Duration::Seconds(30), Duration::Seconds(2)}));
  Discovery off = Found(EngineKind::kVllm);
  off.sleep_verbs_off = true;
  book.SetDiscovery(ReplicaId(0), off);
  EXPECT_FALSE(book.fleet().replicas[0].sleep.has_value()) << "it was started anew, without its requests";
}

TEST(SleepPlan, TheMemoryOfAnAwakeReplicaIsItsWeightsAndItsCache) {
  const FleetBook book(Sleeping());
  EXPECT_NEAR(book.fleet().replicas[0].resident.AsDouble(), 16.06e9 + 10e9, 0.1e9);
  ASSERT_EQ(book.fleet().gpus.size(), 1u);
  EXPECT_EQ(book.fleet().gpus[0], (GpuSpec{"g", Bytes(80'000'000'000)}));
  const FleetBook told(Sleeping("model: llama-3.1-8b, kv_memory: 10GB, resident: 70GB"));
  EXPECT_EQ(told.fleet().replicas[0].resident, Bytes(70'000'000'000));
}

TEST(SleepPlan, AnElasticPoolIsNobodysAndNoneOfTheMemoryOfReplicas) {
  const FleetBook book(
      Read("gpus: [{id: g, kind: a100-80, memory: 80GB, elastic_kv: 30GB}]\n"
           "replicas: [{id: a, url: http://h:1, gpus: [g], model: llama-3.1-8b, sleep: {}}]\n"));
  EXPECT_NEAR(book.fleet().replicas[0].resident.AsDouble(), 16.06e9, 0.1e9);
  EXPECT_EQ(book.fleet().gpus[0].memory, Bytes(50'000'000'000));
}

TEST(SleepPlan, AReplicaOfAServerWithSeveralModelsServesItsOwn) {
  const Config config = Sleeping();
  Discovery found = Found(EngineKind::kOllama);
  found.models.push_back({"another", Tokens(0)});
  Discovery vllm = found;
  vllm.kind = EngineKind::kVllm;
  FitModels(config, config.replicas[0], found);
  ASSERT_EQ(found.models.size(), 1u);
  EXPECT_EQ(found.models[0].name, "llama-3.1-8b");
  FitModels(config, config.replicas[0], vllm);
  EXPECT_EQ(vllm.models.size(), 2u) << "its adapters";
}

// A replica on a node with a bound for sleeping models.
SleepSpec BoundedSleep(const std::string& sleep, const Discovery& found, const std::string& node = "n") {
  FleetBook book(
      Read("gpus: [{id: n/g0, kind: h100}, {id: n/g1, kind: h100}, {id: m/g, kind: h100}]\nnodes: [{id: " + node +
           ", sleep_memory: 20GB}]\nreplicas: [{id: a, url: http://h:1, gpus: [n/g0, n/g1], model: "
           "llama-3.1-8b, sleep: {wake: 2s, " +
           sleep + "}}]\n"));
  book.SetDiscovery(ReplicaId(0), found);
  EXPECT_EQ(book.fleet().hosts, (std::vector<HostSpec>{{node, Bytes(20'000'000'000)}}));
  return book.fleet().replicas[0].sleep.value_or(SleepSpec());
}

TEST(SleepPlan, OnABoundedNodeVllmKeepsItsWeightsThereOrDropsThem) {
  const SleepSpec sleep = BoundedSleep("", Found(EngineKind::kVllm));
  EXPECT_NEAR(sleep.weights.AsDouble(), 8.03e9, 0.05e9) << "on each of its two GPUs";
  EXPECT_TRUE(sleep.may_drop);
  EXPECT_EQ(sleep.wake, Duration::Seconds(2));
  EXPECT_NEAR(sleep.wake_dropped.seconds(), 2 + 16.06 / 2, 0.1) << "16 GB from disk";
  EXPECT_EQ(BoundedSleep("", Found(EngineKind::kVllm), "m").weights, Bytes(0)) << "another node";
}

TEST(SleepPlan, ALevelThatIsFixedStays) {
  const SleepSpec first = BoundedSleep("level: 1", Found(EngineKind::kVllm));
  EXPECT_GT(first.weights, Bytes(0));
  EXPECT_FALSE(first.may_drop);
  EXPECT_EQ(BoundedSleep("level: 2", Found(EngineKind::kVllm)).weights, Bytes(0)) << "it takes no memory of the node";
}

TEST(SleepPlan, OnlyEnginesThatCopyTheirWeightsTakeMemoryOfTheirNode) {
  Discovery sglang = Found(EngineKind::kSglang);
  const SleepSpec copies = BoundedSleep("", sglang);
  EXPECT_GT(copies.weights, Bytes(0));
  EXPECT_FALSE(copies.may_drop) << "it has one level";
  sglang.weights_path = "/w";
  EXPECT_EQ(BoundedSleep("", sglang).weights, Bytes(0)) << "it reads them again";
  EXPECT_EQ(BoundedSleep("", Found(EngineKind::kOllama)).weights, Bytes(0));
}

TEST(SleepPlan, AnUnknownSleepIsWokenByTheLevelThatIsRightAfterEither) {
  KnownReplica replica{Sleeping().replicas[0], Found(EngineKind::kVllm)};
  replica.config.sleep->level.reset();
  EXPECT_EQ(SleepTargetOf(replica, SleepSpec(), "m").level, 1);
  SleepSpec spec;
  spec.may_drop = true;
  EXPECT_EQ(SleepTargetOf(replica, spec, "m").level, 2);
}

TEST(SleepPlan, TheTargetHasTheLevelAndTheWeights) {
  KnownReplica replica{Sleeping().replicas[0], Found(EngineKind::kSglang)};
  replica.config.sleep->level = 2;
  replica.discovery->weights_path = "/w";
  const SleepTarget target = SleepTargetOf(replica, std::nullopt, "name");
  EXPECT_EQ(target.model, "name");
  EXPECT_EQ(target.level, 2);
  EXPECT_EQ(target.weights, "/w");
}

}  // namespace
}  // namespace penstock
