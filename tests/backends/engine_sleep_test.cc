// The sleep of each engine as requests and pages, without a network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/engines/llamacpp/llamacpp_facts.h"
#include "backends/engines/ollama/ollama_facts.h"
#include "backends/engines/sglang/sglang_facts.h"
#include "backends/engines/vllm/vllm_facts.h"
#include "backends/engines/vllm/vllm_sleep.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;

const SleepVerbs& VerbsOf(EngineKind kind) { return EngineOf(kind).sleep_verbs; }

TEST(VllmVerbs, TheFirstLevelIsOneRequestEachWay) {
  EXPECT_THAT(VllmSleep({"m", 1, ""}), ElementsAre(VerbRequest{"/sleep?level=1", ""}));
  EXPECT_THAT(VllmWake({"m", 1, ""}), ElementsAre(VerbRequest{"/wake_up", ""}));
}

TEST(VllmVerbs, TheSecondLevelReadsTheWeightsBeforeTheCacheIsMade) {
  EXPECT_THAT(VllmSleep({"m", 2, ""}), ElementsAre(VerbRequest{"/sleep?level=2", ""}));
  EXPECT_THAT(VllmWake({"m", 2, ""}), ElementsAre(VerbRequest{"/wake_up?tags=weights", ""},
                                                  VerbRequest{"/collective_rpc", R"({"method":"reload_weights"})"},
                                                  VerbRequest{"/wake_up?tags=kv_cache", ""}));
}

TEST(VllmVerbs, ThePageTellsWhichItIs) {
  EXPECT_EQ(ReadVllmRest(R"({"is_sleeping":true})", {}), EngineRest::kAsleep);
  EXPECT_EQ(ReadVllmRest(R"({"is_sleeping":false})", {}), EngineRest::kAwake);
  for (const char* odd : {"", "{}", "[]", R"({"is_sleeping":"true"})", "<html>"}) {
    EXPECT_EQ(ReadVllmRest(odd, {}), EngineRest::kUnknown) << odd;
  }
}

TEST(VllmVerbs, AServerWithoutThePageWasStartedWithoutThem) {
  Discovery found;
  EXPECT_TRUE(VerbsOf(EngineKind::kVllm).has(found));
  NoteVllmWithoutVerbs(&found);
  EXPECT_FALSE(VerbsOf(EngineKind::kVllm).has(found));
  EXPECT_TRUE(ReadVllmVerbs(R"({"is_sleeping":false})", &found).ok());
  EXPECT_TRUE(VerbsOf(EngineKind::kVllm).has(found));
  EXPECT_TRUE(ReadVllmVerbs("welcome", &found).ok());
  EXPECT_FALSE(VerbsOf(EngineKind::kVllm).has(found));
}

TEST(SglangVerbs, WeightsThatTheHostDoesNotKeepAreReadAgain) {
  EXPECT_THAT(SglangSleep({}),
              ElementsAre(VerbRequest{"/flush_cache", "", true}, VerbRequest{"/release_memory_occupation", "{}"}));
  EXPECT_THAT(SglangWake({"m", 1, ""}), ElementsAre(VerbRequest{"/resume_memory_occupation", "{}"}));
  EXPECT_THAT(SglangWake({"m", 1, "/models/\"m\""}),
              ElementsAre(VerbRequest{"/resume_memory_occupation", "{}"},
                          VerbRequest{"/update_weights_from_disk", R"({"model_path":"/models/\"m\""})"}));
}

TEST(SglangVerbs, ThePageOfTheServerSaysWhetherItHasThem) {
  const auto found = [](const std::string& more) {
    Discovery discovery;
    EXPECT_TRUE(
        ReadSglangServerInfo(R"({"max_total_num_tokens":1000,"model_path":"org/m")" + more + "}", &discovery).ok());
    return discovery;
  };
  EXPECT_FALSE(VerbsOf(EngineKind::kSglang).has(found("")));
  const Discovery saver = found(R"(,"enable_memory_saver":true)");
  EXPECT_TRUE(VerbsOf(EngineKind::kSglang).has(saver));
  EXPECT_EQ(saver.weights_path, "org/m");
  EXPECT_EQ(found(R"(,"enable_memory_saver":true,"enable_weights_cpu_backup":true)").weights_path, "");
}

TEST(LlamaVerbs, LoadAndUnloadOneModelOfMany) {
  EXPECT_THAT(LlamaLoad({"a/b:Q4", 1, ""}), ElementsAre(VerbRequest{"/models/load", R"({"model":"a/b:Q4"})"}));
  EXPECT_THAT(LlamaUnload({"a/b:Q4", 1, ""}), ElementsAre(VerbRequest{"/models/unload", R"({"model":"a/b:Q4"})"}));
  Discovery found;
  EXPECT_FALSE(VerbsOf(EngineKind::kLlamaCpp).has(found)) << "a server with a model on its command line";
  found.process_per_model = true;
  EXPECT_TRUE(VerbsOf(EngineKind::kLlamaCpp).has(found));
}

TEST(LlamaVerbs, ThePageHasTheStateOfEachModel) {
  const auto rest = [](const std::string& status) {
    return ReadLlamaRest(R"({"data":[{"id":"other","status":{"value":"loaded"}},{"id":"m","status":)" + status + "}]}",
                         {"m", 1, ""});
  };
  EXPECT_EQ(rest(R"({"value":"unloaded"})"), EngineRest::kAsleep);
  EXPECT_EQ(rest(R"({"value":"loading"})"), EngineRest::kBetween);
  EXPECT_EQ(rest(R"({"value":"loaded"})"), EngineRest::kAwake);
  EXPECT_EQ(rest(R"({"value":"sleeping"})"), EngineRest::kAwake) << "a request wakes it";
  EXPECT_EQ(rest(R"({"value":"unloaded","failed":true,"exit_code":1})"), EngineRest::kFailed);
  EXPECT_EQ(rest(R"({"value":"new"})"), EngineRest::kUnknown);
  EXPECT_EQ(rest("null"), EngineRest::kUnknown);
  EXPECT_EQ(ReadLlamaRest("no", {"m", 1, ""}), EngineRest::kUnknown);
  EXPECT_EQ(ReadLlamaRest(R"({"data":"x"})", {"m", 1, ""}), EngineRest::kUnknown);
}

TEST(OllamaVerbs, AnEmptyRequestLoadsForGoodOrUnloads) {
  EXPECT_THAT(OllamaWake({"m", 1, ""}), ElementsAre(VerbRequest{"/api/embed", R"({"keep_alive":-1,"model":"m"})"}))
      << "it loads models of chats and of embeddings";
  EXPECT_THAT(OllamaSleep({"m", 1, ""}), ElementsAre(VerbRequest{"/api/generate", R"({"keep_alive":0,"model":"m"})"}));
}

TEST(OllamaVerbs, TheListOfLoadedModelsTells) {
  const char* loaded = R"({"models":[{"name":"m:latest","model":"m:latest"},{"name":"n:7b"}]})";
  EXPECT_EQ(ReadOllamaRest(loaded, {"m", 1, ""}), EngineRest::kAwake) << "without a tag it is the latest";
  EXPECT_EQ(ReadOllamaRest(loaded, {"n:7b", 1, ""}), EngineRest::kAwake);
  EXPECT_EQ(ReadOllamaRest(loaded, {"n", 1, ""}), EngineRest::kAsleep);
  EXPECT_EQ(ReadOllamaRest(R"({"models":[]})", {"m", 1, ""}), EngineRest::kAsleep);
  EXPECT_EQ(ReadOllamaRest("gone", {"m", 1, ""}), EngineRest::kUnknown);
}

TEST(EngineVerbTables, AreWholeOrEmpty) {
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    const SleepVerbs& verbs = engine->sleep_verbs;
    EXPECT_EQ(verbs.sleep == nullptr, verbs.wake == nullptr) << engine->name;
    EXPECT_EQ(verbs.page == nullptr, verbs.read == nullptr) << engine->name;
    if (verbs.ends_later) {
      EXPECT_NE(verbs.page, nullptr) << engine->name << ": nothing would tell the end";
    }
  }
  EXPECT_EQ(VerbsOf(EngineKind::kTgi).sleep, nullptr);
  EXPECT_EQ(VerbsOf(EngineKind::kOpenAi).sleep, nullptr);
}

TEST(VllmVerbs, ItsMetricsTellTheLevelOfItsSleep) {
  const auto level = [](const std::string& state, int value) {
    Observation seen;
    const std::string page = absl::StrCat("vllm:engine_sleep_state{sleep_state=\"", state, "\"} ", value, "\n");
    EXPECT_TRUE(ReadVllmLoad(page, {}, &seen).ok());
    return seen.sleep_level;
  };
  EXPECT_EQ(level("awake", 0), SleepLevel::kUnsaid);
  EXPECT_EQ(level("weights_offloaded", 1), SleepLevel::kHost);
  EXPECT_EQ(level("weights_offloaded", 0), SleepLevel::kUnsaid);
  EXPECT_EQ(level("discard_all", 1), SleepLevel::kDisk);
}

}  // namespace
}  // namespace penstock
