#include "router/openai/request/prompt_hashes.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

constexpr size_t kBlock = 2048;

TEST(PrefixHashes, NameWholeBlocksOnly) {
  EXPECT_TRUE(PrefixHashes("", "").empty());
  EXPECT_TRUE(PrefixHashes(std::string(kBlock - 1, 'a'), "").empty());
  EXPECT_EQ(PrefixHashes(std::string(kBlock, 'a'), "").size(), 1u);
  EXPECT_EQ(PrefixHashes(std::string(3 * kBlock + 7, 'a'), "").size(), 3u);
}

TEST(PrefixHashes, AreEqualUpToTheFirstBlockThatDiffers) {
  std::string one(4 * kBlock, 'a');
  std::string other = one;
  other[2 * kBlock + 5] = 'b';
  const auto a = PrefixHashes(one, "a");
  const auto b = PrefixHashes(other, "a");
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);
  EXPECT_NE(a[2], b[2]);
  EXPECT_NE(a[3], b[3]) << "equal text behind a difference is another prefix";
  EXPECT_NE(a[0], a[1]) << "equal blocks at other places are other prefixes";
}

TEST(PrefixHashes, DifferBetweenModels) {
  const std::string text(kBlock, 'a');
  EXPECT_NE(PrefixHashes(text, "a"), PrefixHashes(text, "b"));
}

TEST(PrefixHashes, AreBoundedForHugePrompts) {
  EXPECT_EQ(PrefixHashes(std::string((kMostPrefixBlocks + 5) * kBlock, 'a'), "").size(), kMostPrefixBlocks);
}

uint64_t ShapeOf(const std::string& members, Endpoint endpoint = Endpoint::kChat) {
  const std::string prompt = endpoint == Endpoint::kCompletions ? R"("prompt":"x",)" : "";
  const std::string body = R"({"model":"m",)" + prompt + members + "}";
  const auto facts = ScanRequest(endpoint, body, {});
  EXPECT_TRUE(std::holds_alternative<RequestFacts>(facts)) << body.substr(0, 200);
  return std::holds_alternative<RequestFacts>(facts) ? std::get<RequestFacts>(facts).shape : 0;
}

std::string Chat(const std::string& system, const std::string& user) {
  return R"("messages":[{"role":"system","content":")" + system + R"("},{"role":"user","content":")" + user + R"("}])";
}

TEST(ShapeHash, IsTheSystemPromptAndNotTheQuestion) {
  EXPECT_EQ(ShapeOf(Chat("Be brief.", "one")), ShapeOf(Chat("Be brief.", "two")));
  EXPECT_NE(ShapeOf(Chat("Be brief.", "one")), ShapeOf(Chat("Be long.", "one")));
  EXPECT_NE(ShapeOf(Chat("Be brief.", "one")), 0U);
  const std::string developer =
      R"("messages":[ {"content":"Be brief.","role":"developer"} , {"role":"user","content":"x"}])";
  EXPECT_NE(ShapeOf(developer), 0U) << "in any order of members";
}

TEST(ShapeHash, IsZeroWithoutAnythingInCommon) {
  EXPECT_EQ(ShapeOf(R"("messages":[{"role":"user","content":"x"}])"), 0U);
  EXPECT_EQ(ShapeOf(R"("temperature":1)", Endpoint::kCompletions), 0U);
}

TEST(ShapeHash, CountsToolsAndFormats) {
  const std::string question = R"("messages":[{"role":"user","content":"x"}])";
  const std::string tools = R"(,"tools":[{"type":"function","function":{"name":"f"}}])";
  const std::string format = R"(,"response_format":{"type":"json_object"})";
  EXPECT_NE(ShapeOf(question + tools), 0U);
  EXPECT_NE(ShapeOf(question + format), 0U);
  EXPECT_NE(ShapeOf(question + tools), ShapeOf(question + format));
  EXPECT_NE(ShapeOf(question + tools), ShapeOf(question + tools + format));
  EXPECT_EQ(ShapeOf(question + tools + format), ShapeOf(question + format + tools)) << "in any order of fields";
}

TEST(ShapeHash, ReadsNoMoreThanTheBeginOfALongSystemPrompt) {
  const std::string start(kMostShapeBytes, 'a');
  EXPECT_EQ(ShapeOf(Chat(start + "one", "x")), ShapeOf(Chat(start + "two", "x")));
  EXPECT_NE(ShapeOf(Chat(start, "x")), 0U);
}

}  // namespace
}  // namespace penstock
