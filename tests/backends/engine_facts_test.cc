#include <gtest/gtest.h>

#include "backends/engines/llamacpp/llamacpp_facts.h"
#include "backends/engines/ollama/ollama_facts.h"
#include "backends/engines/sglang/sglang_facts.h"
#include "backends/engines/tgi/tgi_facts.h"
#include "backends/engines/vllm/vllm_facts.h"
#include "tests/backends/recording.h"

namespace penstock {
namespace {

TEST(VllmFacts, TheToldPoolWinsOverBlocks) {
  Discovery found;
  ReadVllmCapacity(
      R"(vllm:cache_config_info{block_size="16",engine="0",kv_cache_size_tokens="137000",num_gpu_blocks="9000",sliding_window="None"} 1.0)",
      &found);
  EXPECT_EQ(found.kv_tokens, Tokens(137'000));
  EXPECT_EQ(found.block, Tokens(16));
}

TEST(VllmFacts, OlderReleasesTellBlocksOnlyAndRanksAreSummed) {
  Discovery found;
  ReadVllmCapacity(
      "vllm:cache_config_info{block_size=\"16\",engine=\"0\",kv_cache_size_tokens=\"None\",num_gpu_blocks=\"100\"} "
      "1.0\n"
      "vllm:cache_config_info{block_size=\"16\",engine=\"1\",num_gpu_blocks=\"100\"} 1.0\n",
      &found);
  EXPECT_EQ(found.kv_tokens, Tokens(3200));
}

TEST(VllmFacts, AnObservationSumsRanksAndAveragesUse) {
  const Observation seen = ReadVllmObservation(
      "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0\n"
      "vllm:num_requests_waiting{engine=\"0\"} 2.0\n"
      "vllm:num_requests_waiting_by_reason{engine=\"0\",reason=\"capacity\"} 9.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n"
      "vllm:kv_cache_usage_perc{engine=\"1\"} 0.7\n"
      "vllm:gpu_cache_usage_perc{engine=\"0\"} 0.1\n"
      "vllm:num_preemptions_total{engine=\"0\"} 11.0\n"
      "vllm:num_preemptions_created{engine=\"0\"} 1.7e9\n"
      "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 1.0\n"
      "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"discard_all\"} 0.0\n");
  EXPECT_EQ(seen.running, 7);
  EXPECT_EQ(seen.waiting, 2);
  EXPECT_NEAR(seen.kv_used_share, 0.6, 1e-12);
  EXPECT_EQ(seen.preemptions, 11);
  EXPECT_FALSE(seen.sleeping);
}

TEST(VllmFacts, TheOldNameOfUseIsReadWhenTheNewOneIsAbsent) {
  EXPECT_NEAR(ReadVllmObservation("vllm:gpu_cache_usage_perc 0.25\n").kv_used_share, 0.25, 1e-12);
  EXPECT_NEAR(ReadVllmObservation("vllm:kv_cache_usage_perc 0\nvllm:gpu_cache_usage_perc 0.25\n").kv_used_share, 0,
              1e-12);
}

TEST(VllmFacts, ASleepingEngineIsSeen) {
  EXPECT_TRUE(ReadVllmObservation("vllm:engine_sleep_state{sleep_state=\"awake\"} 0\n").sleeping);
}

TEST(VllmFacts, WithoutMetricsNothingIsTold) {
  const Observation seen = ReadVllmObservation("");
  EXPECT_LT(seen.running, 0);
  EXPECT_LT(seen.waiting, 0);
  EXPECT_LT(seen.kv_used_share, 0);
  EXPECT_LT(seen.preemptions, 0);
  EXPECT_LT(ReadVllmObservation("vllm:kv_cache_usage_perc NaN\n").kv_used_share, 0);
  EXPECT_FALSE(LooksLikeVllm("llamacpp:requests_processing 1\n"));
  EXPECT_TRUE(LooksLikeVllm("a 1\nvllm:num_requests_running 1\n"));
}

TEST(LlamaFacts, ThePoolIsTakenToBeSharedAndItsOverflowFatal) {
  const auto props = ParseLlamaProps(RecordedBody("get-props"));
  ASSERT_TRUE(props.ok()) << props.status();
  const Discovery found = DiscoveryFromProps(*props);
  EXPECT_EQ(found.kv_tokens, Tokens(2048));
  EXPECT_EQ(found.sequence_limit, Tokens(2048));
  EXPECT_EQ(found.max_sequences, 4);
  EXPECT_EQ(found.block, Tokens(1));
  EXPECT_TRUE(found.overflow_fatal);
  EXPECT_EQ(found.version, "b10587-3f545becc");
  EXPECT_FALSE(props->sleeping);
}

TEST(LlamaFacts, RouterModeTellsNoCapacity) {
  const auto props = ParseLlamaProps(RecordedBody("router-get-props"));
  ASSERT_TRUE(props.ok()) << props.status();
  EXPECT_TRUE(props->many_models);
  EXPECT_EQ(DiscoveryFromProps(*props).kv_tokens, Tokens(0));
  EXPECT_FALSE(DiscoveryFromProps(*props).overflow_fatal);
}

TEST(LlamaFacts, LoadingIsNotProps) { EXPECT_FALSE(ParseLlamaProps(RecordedBody("loading-get-props")).ok()); }

TEST(LlamaFacts, OnlyBusySlotsHoldMemory) {
  const auto busy = ReadLlamaSlots(RecordedBody("get-slots-busy"), Tokens(8192));
  ASSERT_TRUE(busy.ok()) << busy.status();
  EXPECT_EQ(busy->running, 4);
  EXPECT_EQ(busy->kv_used_tokens, 38 + 38 + 38 + 39);
  EXPECT_NEAR(busy->kv_used_share, 153.0 / 8192, 1e-12);
  const auto idle = ReadLlamaSlots(RecordedBody("get-slots-after"), Tokens(8192));
  ASSERT_TRUE(idle.ok());
  EXPECT_EQ(idle->running, 0);
  EXPECT_EQ(idle->kv_used_tokens, 0);
  ASSERT_TRUE(ReadLlamaSlots(RecordedBody("get-slots-fresh"), Tokens(0)).ok());
  EXPECT_LT(ReadLlamaSlots(RecordedBody("get-slots-fresh"), Tokens(0))->kv_used_share, 0);
  EXPECT_FALSE(ReadLlamaSlots(RecordedBody("slots-disabled"), Tokens(1)).ok());
}

TEST(LlamaFacts, MetricsTellRunningAndDeferred) {
  const Observation busy = ReadLlamaMetrics(RecordedBody("get-metrics-busy"));
  EXPECT_EQ(busy.running, 4);
  EXPECT_EQ(busy.waiting, 3);
  const Observation off = ReadLlamaMetrics(RecordedBody("metrics-disabled"));
  EXPECT_LT(off.running, 0);
  EXPECT_LT(off.waiting, 0);
}

TEST(SglangFacts, CapacityComesFromServerInfo) {
  const auto found = ParseSglangServerInfo(
      R"({"version":"0.5","page_size":64,"max_total_num_tokens":90000,"dp_size":2,"chunked_prefill_size":8192,
          "max_req_input_len":32763,"internal_states":[{"effective_max_running_requests_per_dp":128}]})");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->kv_tokens, Tokens(180'000));
  EXPECT_EQ(found->block, Tokens(64));
  EXPECT_EQ(found->max_sequences, 256);
  EXPECT_EQ(found->batch_budget, Tokens(8192));
  EXPECT_FALSE(ParseSglangServerInfo(R"({"vllm_config":"x"})").ok());
}

TEST(SglangFacts, LoadsAreSummedOverRanks) {
  const auto seen = ReadSglangLoads(
      R"({"loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":1,"num_used_tokens":100,"max_total_num_tokens":1000},
                   {"dp_rank":1,"num_running_reqs":2,"num_waiting_reqs":0,"num_used_tokens":300,"max_total_num_tokens":1000}]})");
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->running, 5);
  EXPECT_EQ(seen->waiting, 1);
  EXPECT_EQ(seen->kv_used_tokens, 400);
  EXPECT_NEAR(seen->kv_used_share, 0.2, 1e-12);
  EXPECT_FALSE(ReadSglangLoads("{}").ok());
}

TEST(TgiFacts, InfoAndMetrics) {
  const auto found =
      ParseTgiInfo(R"({"model_id":"m","max_concurrent_requests":128,"max_total_tokens":4096,"version":"3"})");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->models[0].max_context, Tokens(4096));
  EXPECT_EQ(found->max_sequences, 128);
  const Observation seen = ReadTgiObservation(
      "tgi_queue_size 2\ntgi_batch_current_size 5\ntgi_batch_current_max_tokens 600\ntgi_batch_max_total_tokens "
      "1000\n");
  EXPECT_EQ(seen.waiting, 2);
  EXPECT_EQ(seen.running, 5);
  EXPECT_NEAR(seen.kv_used_share, 0.6, 1e-12);
  EXPECT_FALSE(ParseTgiInfo("{}").ok());
}

TEST(OllamaFacts, InstalledModelsWithTheContextOfTheLoadedOnes) {
  const auto models = ParseOllamaModels(R"({"models":[{"name":"a:latest"},{"name":"b"}]})",
                                        R"({"models":[{"name":"b","context_length":32768}]})");
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ((*models)[0].max_context, Tokens(0));
  EXPECT_EQ((*models)[1].max_context, Tokens(32768));
  EXPECT_TRUE(ParseOllamaModels(R"({"models":[]})", "").ok());
  EXPECT_FALSE(ParseOllamaModels("404", "").ok());
  EXPECT_EQ(ParseOllamaVersion(R"({"version":"0.9"})"), "0.9");
}

}  // namespace
}  // namespace penstock
