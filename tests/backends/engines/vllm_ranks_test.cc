// The pools and loads of the data-parallel ranks on a page of vLLM.
#include "backends/engines/vllm/vllm_ranks.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/engines/vllm/vllm_facts.h"

namespace penstock {
namespace {

Discovery VllmPools(absl::string_view metrics) {
  Discovery found;
  EXPECT_TRUE(ReadVllmCapacity(metrics, &found).ok());
  return found;
}

TEST(VllmRanks, OlderReleasesTellBlocksOnlyAndEachRankThoseOfAll) {
  const Discovery found = VllmPools(
      "vllm:cache_config_info{block_size=\"16\",engine=\"0\",kv_cache_size_tokens=\"None\",num_gpu_blocks=\"100\"} "
      "1.0\n"
      "vllm:cache_config_info{block_size=\"16\",engine=\"1\",num_gpu_blocks=\"100\"} 1.0\n");
  EXPECT_EQ(found.kv_tokens, Tokens(1600));
  EXPECT_EQ(found.ranks, (std::vector<RankFacts>{{0, Tokens(800)}, {1, Tokens(800)}}));
}

TEST(VllmRanks, ThoseThatTellTokensTellTheirOwn) {
  const auto pool = [](const char* rank) {
    return std::string("vllm:cache_config_info{block_size=\"16\",engine=\"") + rank +
           "\",kv_cache_size_tokens=\"800\",num_gpu_blocks=\"100\"} 1\n";
  };
  const Discovery found = VllmPools(pool("0") + pool("1"));
  EXPECT_EQ(found.kv_tokens, Tokens(1600));
  EXPECT_EQ(found.ranks, (std::vector<RankFacts>{{0, Tokens(800)}, {1, Tokens(800)}}));
}

TEST(VllmRanks, EachHasAPoolAndALoadOfItsOwn) {
  const std::string metrics =
      "vllm:num_requests_running{engine=\"1\"} 4\nvllm:num_requests_running{engine=\"0\"} 3\n"
      "vllm:num_requests_waiting{engine=\"1\"} 2\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.7\n"
      "vllm:num_preemptions_total{engine=\"1\"} 9\n"
      "vllm:prefix_cache_hits_total{engine=\"1\"} 70\n"
      "vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"100\"} 1\n"
      "vllm:cache_config_info{block_size=\"16\",engine=\"1\",num_gpu_blocks=\"200\"} 1\n";
  const Discovery found = VllmPools(metrics);
  EXPECT_EQ(found.kv_tokens, Tokens(4800));
  EXPECT_EQ(found.ranks, (std::vector<RankFacts>{{0, Tokens(1600)}, {1, Tokens(3200)}}));
  Observation seen;
  ASSERT_TRUE(ReadVllmLoad(metrics, found, &seen).ok());
  EXPECT_EQ(seen.running, 7);
  ASSERT_EQ(seen.ranks.size(), 2u);
  EXPECT_EQ(seen.ranks[0].running, 3);
  EXPECT_EQ(seen.ranks[0].waiting, -1) << "it did not say";
  EXPECT_EQ(seen.ranks[1].rank, 1);
  EXPECT_EQ(seen.ranks[1].waiting, 2);
  EXPECT_EQ(seen.ranks[1].preemptions, 9);
  EXPECT_EQ(seen.ranks[1].cache_hits, 70);
  EXPECT_EQ(seen.ranks[0].cache_hits, -1);
  EXPECT_NEAR(seen.ranks[1].kv_used_share, 0.7, 1e-12);
}

TEST(VllmRanks, OddOnesCountAsOnePool) {
  const auto pool = [](const char* rank) {
    return std::string("vllm:cache_config_info{block_size=\"16\",engine=\"") + rank + "\",num_gpu_blocks=\"100\"} 1\n";
  };
  EXPECT_TRUE(VllmPools(pool("0")).ranks.empty()) << "one rank";
  EXPECT_TRUE(VllmPools(pool("3")).ranks.empty()) << "a server that shows its own rank only";
  EXPECT_TRUE(VllmPools(pool("0") + pool("x")).ranks.empty());
  EXPECT_TRUE(VllmPools(pool("0") + pool("-1")).ranks.empty());
  EXPECT_TRUE(VllmPools(pool("0") + pool("99999")).ranks.empty());
  EXPECT_TRUE(
      VllmPools(pool("0") + "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\"} 1\n").ranks.empty());
  EXPECT_EQ(VllmPools(pool("5") + pool("2")).ranks.front().rank, 2) << "numbers stay as they are";
}

}  // namespace
}  // namespace penstock
