// Each engine by the bytes of its pages, recorded where a recording exists.
#include <gtest/gtest.h>

#include "backends/engines/llamacpp/llamacpp_facts.h"
#include "backends/engines/ollama/ollama_facts.h"
#include "backends/engines/sglang/sglang_facts.h"
#include "backends/engines/tgi/tgi_facts.h"
#include "backends/engines/vllm/vllm_facts.h"
#include "tests/backends/recording.h"

namespace penstock {
namespace {
Observation VllmLoad(const std::string& metrics) {
  Observation seen;
  EXPECT_TRUE(ReadVllmLoad(metrics, {}, &seen).ok());
  return seen;
}

TEST(VllmFacts, AServerInDevelopmentModeTellsItsBatch) {
  // The members of the page of vLLM 0.32, which has many more.
  const std::string scheduler = R"("runner_type":"generate","max_num_batched_tokens":8192,"max_num_seqs":64)";
  Discovery found;
  EXPECT_TRUE(ReadVllmScheduler(R"({"vllm_config":{"scheduler_config":{)" + scheduler + "}}}", &found).ok());
  EXPECT_EQ(found.max_sequences, 64);
  EXPECT_EQ(found.batch_budget, Tokens(8192));
  // Older ones have a text there.
  for (const std::string body : {R"({"vllm_config":"model='m', max_num_seqs=1"})", "{}", "<html>", ""}) {
    Discovery nothing;
    EXPECT_TRUE(ReadVllmScheduler(body, &nothing).ok());
    EXPECT_EQ(nothing, Discovery());
  }
}

TEST(VllmFacts, TheToldPoolWinsOverBlocks) {
  Discovery found;
  ASSERT_TRUE(
      ReadVllmCapacity(
          R"(vllm:cache_config_info{block_size="16",engine="0",kv_cache_size_tokens="137000",num_gpu_blocks="9000",sliding_window="None"} 1.0)",
          &found)
          .ok());
  EXPECT_EQ(found.kv_tokens, Tokens(137'000));
  EXPECT_EQ(found.block, Tokens(16));
}

TEST(VllmFacts, AnObservationSumsRanksAndAveragesUse) {
  const Observation seen = VllmLoad(
      "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0\n"
      "vllm:num_requests_waiting{engine=\"0\"} 2.0\n"
      "vllm:num_requests_waiting_by_reason{engine=\"0\",reason=\"capacity\"} 9.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n"
      "vllm:kv_cache_usage_perc{engine=\"1\"} 0.7\n"
      "vllm:gpu_cache_usage_perc{engine=\"0\"} 0.1\n"
      "vllm:num_preemptions_total{engine=\"0\"} 11.0\n"
      "vllm:num_preemptions_created{engine=\"0\"} 1.7e9\n"
      "vllm:prefix_cache_queries_total{engine=\"0\"} 900.0\n"
      "vllm:prefix_cache_queries_total{engine=\"1\"} 100.0\n"
      "vllm:prefix_cache_hits_total{engine=\"0\"} 300\nvllm:external_prefix_cache_hits_total 200\n"
      "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 1.0\n"
      "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"discard_all\"} 0.0\n");
  EXPECT_EQ(seen.running, 7);
  EXPECT_EQ(seen.waiting, 2);
  EXPECT_NEAR(seen.kv_used_share, 0.6, 1e-12);
  EXPECT_EQ(seen.preemptions, 11);
  EXPECT_EQ(seen.cache_queries, 1000);
  EXPECT_EQ(seen.cache_hits, 500) << "on the GPU and in the host";
  EXPECT_FALSE(seen.sleeping);
}

TEST(VllmFacts, SpeculationShowsInTheMetrics) {
  Discovery found;
  EXPECT_TRUE(ReadVllmCapacity("vllm:num_requests_running{engine=\"0\"} 0\n", &found).ok());
  EXPECT_FALSE(found.speculates);
  EXPECT_TRUE(ReadVllmCapacity("vllm:spec_decode_num_drafts_total{engine=\"0\"} 7\n", &found).ok());
  EXPECT_TRUE(found.speculates);
}

TEST(VllmFacts, TheOldNameOfUseIsReadWhenTheNewOneIsAbsent) {
  EXPECT_NEAR(VllmLoad("vllm:gpu_cache_usage_perc 0.25\n").kv_used_share, 0.25, 1e-12);
  EXPECT_NEAR(VllmLoad("vllm:kv_cache_usage_perc 0\nvllm:gpu_cache_usage_perc 0.25\n").kv_used_share, 0, 1e-12);
}

TEST(VllmFacts, ASleepingEngineIsSeen) {
  EXPECT_TRUE(VllmLoad("vllm:engine_sleep_state{sleep_state=\"awake\"} 0\n").sleeping);
}

TEST(VllmFacts, WithoutMetricsNothingIsTold) {
  const Observation seen = VllmLoad("");
  EXPECT_LT(seen.running, 0);
  EXPECT_LT(seen.waiting, 0);
  EXPECT_LT(seen.kv_used_share, 0);
  EXPECT_LT(seen.preemptions, 0);
  EXPECT_LT(VllmLoad("vllm:kv_cache_usage_perc NaN\n").kv_used_share, 0);
  EXPECT_FALSE(LooksLikeVllm("llamacpp:requests_processing 1\n"));
  EXPECT_TRUE(LooksLikeVllm("a 1\nvllm:num_requests_running 1\n"));
}

TEST(LlamaFacts, ThePoolIsTakenToBeSharedAndItsOverflowFatal) {
  Discovery found;
  ASSERT_TRUE(ReadLlamaProps(RecordedBody("get-props"), &found).ok());
  EXPECT_EQ(found.kv_tokens, Tokens(2048));
  EXPECT_EQ(found.sequence_limit, Tokens(2048));
  EXPECT_EQ(found.max_sequences, 4);
  EXPECT_EQ(found.block, Tokens(1));
  EXPECT_TRUE(found.overflow_fatal);
  EXPECT_EQ(found.version, "b10587-3f545becc");
  EXPECT_FALSE(found.process_per_model);
}

TEST(LlamaFacts, RouterModeReportsNoCapacity) {
  Discovery found;
  ASSERT_TRUE(ReadLlamaProps(RecordedBody("router-get-props"), &found).ok());
  EXPECT_TRUE(found.process_per_model);
  EXPECT_EQ(found.kv_tokens, Tokens(0));
  EXPECT_FALSE(found.overflow_fatal);
}

TEST(LlamaFacts, TheAnswerOfALoadingServerIsNotProps) {
  Discovery found;
  EXPECT_FALSE(ReadLlamaProps(RecordedBody("loading-get-props"), &found).ok());
}

TEST(VllmFacts, ItsTokenizerCountsAText) {
  EXPECT_EQ(AskVllmCount("a\\n\\\"b\\\""), R"({"prompt":"a\n\"b\"","add_special_tokens":false})");
  EXPECT_EQ(ReadVllmCount(R"({"count":3,"max_model_len":4096,"tokens":[1,2,3],"token_strs":null})"), Tokens(3));
  for (const char* none : {"", "[]", "{}", R"({"count":-1})", R"({"count":"3"})", R"({"tokens":[1]})"}) {
    EXPECT_EQ(ReadVllmCount(none), std::nullopt) << none;
  }
}

TEST(LlamaFacts, ASleepingServerRunsNothingAndAnAwakeOneReportsNothing) {
  std::string props = RecordedBody("get-props");
  Observation seen;
  ASSERT_TRUE(ReadLlamaSleep(props, {}, &seen).ok());
  EXPECT_LT(seen.running, 0);
  const std::string awake = "\"is_sleeping\":false";
  props.replace(props.find(awake), awake.size(), "\"is_sleeping\":true");
  ASSERT_TRUE(ReadLlamaSleep(props, {}, &seen).ok());
  EXPECT_EQ(seen.running, 0);
  EXPECT_EQ(seen.kv_used_tokens, 0);
  EXPECT_FALSE(seen.sleeping);
}

TEST(LlamaFacts, OnlyBusySlotsHoldMemory) {
  Discovery found;
  found.kv_tokens = Tokens(8192);
  Observation busy;
  ASSERT_TRUE(ReadLlamaSlots(RecordedBody("get-slots-busy"), found, &busy).ok());
  EXPECT_EQ(busy.running, 4);
  EXPECT_EQ(busy.kv_used_tokens, 38 + 38 + 38 + 39);
  EXPECT_NEAR(busy.kv_used_share, 153.0 / 8192, 1e-12);
  Observation idle;
  ASSERT_TRUE(ReadLlamaSlots(RecordedBody("get-slots-after"), found, &idle).ok());
  EXPECT_EQ(idle.running, 0);
  EXPECT_EQ(idle.kv_used_tokens, 0);
}

TEST(LlamaFacts, SlotsWithoutCapacityHaveNoShareAndRefusedSlotsReportNothing) {
  Observation seen;
  ASSERT_TRUE(ReadLlamaSlots(RecordedBody("get-slots-fresh"), {}, &seen).ok());
  EXPECT_LT(seen.kv_used_share, 0);
  Observation refused;
  EXPECT_FALSE(ReadLlamaSlots(RecordedBody("slots-disabled"), {}, &refused).ok());
  EXPECT_LT(refused.running, 0);
}

TEST(LlamaFacts, MetricsReportRunningAndDeferred) {
  Observation busy;
  ASSERT_TRUE(ReadLlamaMetrics(RecordedBody("get-metrics-busy"), {}, &busy).ok());
  EXPECT_EQ(busy.running, 4);
  EXPECT_EQ(busy.waiting, 3);
  Observation off;
  EXPECT_FALSE(ReadLlamaMetrics(RecordedBody("metrics-disabled"), {}, &off).ok());
  EXPECT_LT(off.running, 0);
  EXPECT_LT(off.waiting, 0);
}

TEST(SglangFacts, CapacityComesFromServerInfo) {
  Discovery found;
  ASSERT_TRUE(
      ReadSglangServerInfo(
          R"({"version":"0.5","page_size":64,"max_total_num_tokens":90000,"dp_size":2,"chunked_prefill_size":8192,
          "max_req_input_len":32763,"internal_states":[{"effective_max_running_requests_per_dp":128}]})",
          &found)
          .ok());
  EXPECT_EQ(found.kv_tokens, Tokens(180'000));
  EXPECT_EQ(found.block, Tokens(64));
  EXPECT_EQ(found.max_sequences, 256);
  EXPECT_EQ(found.batch_budget, Tokens(8192));
  EXPECT_EQ(found.sequence_limit, Tokens(32763));
  EXPECT_FALSE(ReadSglangServerInfo(R"({"vllm_config":"x"})", &found).ok());
}

TEST(SglangFacts, LoadsAreSummedOverRanks) {
  Observation seen;
  ASSERT_TRUE(
      ReadSglangLoads(
          R"({"loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":1,"num_used_tokens":100,"max_total_num_tokens":1000},
                   {"dp_rank":1,"num_running_reqs":2,"num_waiting_reqs":0,"num_used_tokens":300,"max_total_num_tokens":1000}]})",
          {}, &seen)
          .ok());
  EXPECT_EQ(seen.running, 5);
  EXPECT_EQ(seen.waiting, 1);
  EXPECT_EQ(seen.kv_used_tokens, 400);
  EXPECT_NEAR(seen.kv_used_share, 0.2, 1e-12);
  EXPECT_FALSE(ReadSglangLoads("{}", {}, &seen).ok());
}

TEST(TgiFacts, InfoHasTheLimitsAndMetricsHaveThePoolAndTheLoad) {
  Discovery found;
  ASSERT_TRUE(
      ReadTgiInfo(R"({"model_id":"m","max_concurrent_requests":128,"max_total_tokens":4096,"version":"3"})", &found)
          .ok());
  ASSERT_EQ(found.models.size(), 1u);
  EXPECT_EQ(found.models[0].max_context, Tokens(4096));
  EXPECT_EQ(found.max_sequences, 128);
  const std::string metrics =
      "tgi_queue_size 2\ntgi_batch_current_size 5\ntgi_batch_current_max_tokens 600\ntgi_batch_max_total_tokens "
      "1000\n";
  ASSERT_TRUE(ReadTgiPool(metrics, &found).ok());
  EXPECT_EQ(found.kv_tokens, Tokens(1000));
  Observation seen;
  ASSERT_TRUE(ReadTgiLoad(metrics, found, &seen).ok());
  EXPECT_EQ(seen.waiting, 2);
  EXPECT_EQ(seen.running, 5);
  EXPECT_NEAR(seen.kv_used_share, 0.6, 1e-12);
  EXPECT_FALSE(ReadTgiInfo("{}", &found).ok());
}

TEST(OllamaFacts, InstalledModelsHaveTheContextOfTheLoadedOnes) {
  Discovery found;
  ASSERT_TRUE(ReadOllamaTags(R"({"models":[{"name":"a:latest"},{"name":"b"}]})", &found).ok());
  ASSERT_TRUE(ReadOllamaLoaded(R"({"models":[{"name":"b","context_length":32768}]})", &found).ok());
  ASSERT_EQ(found.models.size(), 2u);
  EXPECT_EQ(found.models[0].max_context, Tokens(0));
  EXPECT_EQ(found.models[1].max_context, Tokens(32768));
  EXPECT_FALSE(ReadOllamaTags("404", &found).ok());
  EXPECT_FALSE(ReadOllamaLoaded("", &found).ok());
  ASSERT_TRUE(ReadOllamaVersion(R"({"version":"0.9"})", &found).ok());
  EXPECT_EQ(found.version, "0.9");
}

}  // namespace
}  // namespace penstock
