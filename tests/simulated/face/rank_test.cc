// The data-parallel ranks of a simulated engine behind one address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulated/fleet_fixture.h"

namespace penstock::simulated {
namespace {

using ::testing::HasSubstr;

constexpr char kAskRank[] = R"({"model":"llama-3.1-8b","messages":[{"role":"user","content":"Hi"}],"max_tokens":3})";

class Ranks : public FleetTest {
 protected:
  void SetUp() override {
    Config config = OneReplica();
    config.gpus.push_back(config.gpus[0]);
    config.gpus[1].id = "gpu1";
    config.replicas[0].gpus.push_back("gpu1");
    config.replicas[0].simulated->ranks = 2;
    Run(config);
  }
  int AskRank(const std::string& rank) {
    return Ask("POST", "/v1/chat/completions", kAskRank, {{"X-data-parallel-rank", rank}}).status;
  }
  std::string Finished(int rank) {
    return "vllm:request_success_total{engine=\"" + std::to_string(rank) +
           "\",model_name=\"llama-3.1-8b\",finished_reason=\"length\"} ";
  }
};

TEST_F(Ranks, EachRankHasFiguresOfItsOwn) {
  const std::string page = Ask("GET", "/metrics").body;
  for (const char* rank : {"0", "1"}) {
    EXPECT_THAT(page, HasSubstr(std::string("vllm:num_requests_running{engine=\"") + rank + "\""));
    EXPECT_THAT(page, HasSubstr(std::string("vllm:cache_config_info{engine=\"") + rank + "\""));
  }
  const size_t family = page.find("# TYPE vllm:num_requests_running gauge");
  EXPECT_EQ(page.find("# TYPE vllm:num_requests_running gauge", family + 1), std::string::npos) << "one family for all";
}

TEST_F(Ranks, ARequestRunsOnTheRankThatItNames) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(AskRank("1"), 200);
  EXPECT_EQ(AskRank("0"), 200);
  const std::string page = Ask("GET", "/metrics").body;
  EXPECT_THAT(page, HasSubstr(Finished(1) + "3\n"));
  EXPECT_THAT(page, HasSubstr(Finished(0) + "1\n"));
}

TEST_F(Ranks, ARankThatDoesNotExistIsRefused) {
  for (const char* odd : {"2", "-1", "x", "1x"}) EXPECT_EQ(AskRank(odd), 400) << odd;
}

}  // namespace
}  // namespace penstock::simulated
