// Figures that no engine can have: they count as not reported, and no sum of them overflows.
#include "backends/engines/contract/possible.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "backends/engines/llamacpp/llamacpp_facts.h"
#include "backends/engines/sglang/sglang_facts.h"
#include "backends/engines/tgi/tgi_facts.h"
#include "backends/engines/vllm/vllm_facts.h"

namespace penstock {
namespace {

const std::vector<std::string> kOdd = {"NaN", "+Inf", "-Inf", "-1", "1e300", "1e19"};

TEST(Possible, OnlyWholeSumsBetweenZeroAndTheMostAreKept) {
  int sum = -1;
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0,
                           1e300, 1.0 + kMostRequests}) {
    AddReported(odd, kMostRequests, &sum);
    EXPECT_EQ(sum, -1) << odd;
  }
  AddReported(kMostRequests, kMostRequests, &sum);
  AddReported(kMostRequests, kMostRequests, &sum);
  EXPECT_EQ(sum, kMostRequests);
}

TEST(Possible, AUseBelowZeroOrFarAboveTheCapacityIsUnreported) {
  EXPECT_EQ(PossibleUse(0), 0);
  EXPECT_EQ(PossibleUse(1.25), 1.25);
  EXPECT_EQ(PossibleUse(17), -1);
  EXPECT_EQ(PossibleUse(-0.5), -1);
  EXPECT_EQ(PossibleUse(std::numeric_limits<double>::quiet_NaN()), -1);
}

TEST(Possible, ImpossibleLimitsAreUnreported) {
  Discovery found;
  found.kv_tokens = Tokens(kMostPoolTokens);
  found.block = Tokens(kMostBlockTokens + 1);
  found.batch_budget = Tokens(-1);
  found.sequence_limit = Tokens(kMostPoolTokens + 1);
  found.max_sequences = kMostRequests + 1;
  found.models = {{"m", Tokens(4096)}, {"n", Tokens(9'000'000'000'000'000)}};
  DropImpossible(found);
  EXPECT_EQ(found.kv_tokens, Tokens(kMostPoolTokens));
  EXPECT_EQ(found.block, Tokens(0));
  EXPECT_EQ(found.batch_budget, Tokens(0));
  EXPECT_EQ(found.sequence_limit, Tokens(0));
  EXPECT_EQ(found.max_sequences, 0);
  EXPECT_EQ(found.models[0].max_context, Tokens(4096));
  EXPECT_EQ(found.models[1].max_context, Tokens(0));
}

TEST(Possible, TheLoadOfVllmHasNoOddFigure) {
  for (const std::string& odd : kOdd) {
    Observation seen;
    std::string page;
    for (const char* name : {"num_requests_running", "num_requests_waiting", "num_preemptions_total",
                             "prompt_tokens_total", "kv_cache_usage_perc", "prefix_cache_hits_total"}) {
      page += std::string("vllm:") + name + " " + odd + "\n";
    }
    ASSERT_TRUE(ReadVllmLoad(page, {}, &seen).ok());
    EXPECT_EQ(seen.running, -1) << odd;
    EXPECT_EQ(seen.waiting, -1) << odd;
    EXPECT_EQ(seen.preemptions, -1) << odd;
    EXPECT_EQ(seen.tokens, -1) << odd;
    EXPECT_EQ(seen.cache_hits, -1) << odd;
    EXPECT_EQ(seen.kv_used_share, -1) << odd;
  }
}

TEST(Possible, ThePoolOfVllmDoesNotOverflow) {
  for (const std::string odd : {"9223372036854775807", "4611686018427387904", "-5", "1e19"}) {
    Discovery found;
    const std::string row = "vllm:cache_config_info{block_size=\"" + odd + "\",num_gpu_blocks=\"" + odd +
                            "\",kv_cache_size_tokens=\"" + odd + "\"} 1\n";
    ASSERT_TRUE(ReadVllmCapacity(row + row + row, &found).ok());
    EXPECT_EQ(found.kv_tokens, Tokens(0)) << odd;
  }
}

TEST(Possible, TheRanksOfSglangDoNotOverflow) {
  Discovery found;
  ASSERT_TRUE(
      ReadSglangServerInfo(
          R"({"max_total_num_tokens":8000000000000000,"dp_size":8000000000000000,"max_running_requests":8e15})", &found)
          .ok());
  EXPECT_EQ(found.kv_tokens, Tokens(0));
  EXPECT_EQ(found.max_sequences, kMostRequests);
  Observation seen;
  std::string loads = R"({"num_running_reqs":1000000,"num_used_tokens":8e15,"max_total_num_tokens":100})";
  for (int i = 0; i < 12; ++i) loads += "," + loads;
  ASSERT_TRUE(ReadSglangLoads("{\"loads\":[" + loads + "]}", {}, &seen).ok());
  EXPECT_EQ(seen.running, kMostRequests);
  EXPECT_EQ(seen.kv_used_tokens, 0);
}

TEST(Possible, TheRequestsOfTgiAndTheSlotsOfLlamaServerDoNotOverflow) {
  Observation tgi;
  ASSERT_TRUE(ReadTgiLoad("tgi_queue_size 8e15\ntgi_batch_current_size 8e15\n", {}, &tgi).ok());
  EXPECT_EQ(tgi.running + tgi.waiting, 2 * kMostRequests);
  Observation llama;
  const std::string slot = R"({"is_processing":true,"n_prompt_tokens":8e15})";
  ASSERT_TRUE(ReadLlamaSlots("[" + slot + "," + slot + "]", {}, &llama).ok());
  EXPECT_EQ(llama.kv_used_tokens, 0);
}

}  // namespace
}  // namespace penstock
