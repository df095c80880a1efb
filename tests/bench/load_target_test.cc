#include "bench/load/load_target.h"

#include <gtest/gtest.h>

namespace penstock::bench {
namespace {

TEST(LoadTarget, UrlsAreTakenApart) {
  const auto plain = ParseLoadTarget("http://127.0.0.1:8080");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->Authority(), "127.0.0.1:8080");
  EXPECT_EQ(plain->api, "/v1");
  EXPECT_EQ(plain->root, "");

  const auto prefixed = ParseLoadTarget("http://[::1]/gpu/v1/");
  ASSERT_TRUE(prefixed.ok());
  EXPECT_EQ(prefixed->host, "::1");
  EXPECT_EQ(prefixed->port, "80");
  EXPECT_EQ(prefixed->api, "/gpu/v1");
  EXPECT_EQ(prefixed->root, "/gpu");
}

TEST(LoadTarget, BadUrlsAreRefused) {
  for (const char* url :
       {"", "127.0.0.1:80", "https://x", "http://", "http://h:0", "http://h:99999", "http://h:x", "http://[::1"}) {
    EXPECT_FALSE(ParseLoadTarget(url).ok()) << url;
  }
}

TEST(LoadTarget, MetricsAreSummedOverLabels) {
  const char* text =
      "# TYPE vllm:num_preemptions_total counter\n"
      "vllm:num_preemptions_total{engine=\"0\",model_name=\"a b\"} 3.0\n"
      "vllm:num_preemptions_total{engine=\"1\"} 4\n"
      "vllm:num_preemptions_total_created{engine=\"0\"} 100\n"
      "plain_total 5 1700000000\n";

  EXPECT_EQ(SumOfMetric(text, "vllm:num_preemptions_total"), 7);
  EXPECT_EQ(SumOfMetric(text, "plain_total"), 5);
  EXPECT_EQ(SumOfMetric(text, "absent_total"), std::nullopt);
}

}  // namespace
}  // namespace penstock::bench
