#include "router/openai/answer/reassembly.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

std::string EventOf(size_t size) {
  const std::string text = R"({"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]})";
  return std::string(text).insert(text.find("\"\"") + 1, std::string(size - text.size(), 'x'));
}

TEST(Reassembly, AnEventThatWouldHoldTheLoopIsTooLong) {
  Reassembly answer(Endpoint::kChat, /*longest=*/64 << 20);
  EXPECT_TRUE(answer.Add(EventOf(Reassembly::kLongestEvent), /*done=*/false));
  EXPECT_FALSE(answer.Add(EventOf(Reassembly::kLongestEvent + 1), /*done=*/false));
  EXPECT_TRUE(answer.Body().ok());
}

TEST(Reassembly, AllEventsTogetherAreBounded) {
  Reassembly answer(Endpoint::kChat, /*longest=*/1000);
  EXPECT_TRUE(answer.Add(EventOf(500), /*done=*/false));
  EXPECT_TRUE(answer.Add(EventOf(500), /*done=*/false));
  EXPECT_FALSE(answer.Add(EventOf(500), /*done=*/false));
}

}  // namespace
}  // namespace penstock
