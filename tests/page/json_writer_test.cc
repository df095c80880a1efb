#include "router/page/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace penstock {
namespace {

using nlohmann::json;

json Quoted(const std::string& text, size_t most = 64) {
  std::string out;
  AppendQuoted(text, most, &out);
  return json::parse(out);
}

TEST(QuotedNames, StayWhatTheyAre) {
  EXPECT_EQ(Quoted("llama-3.1-8b"), "llama-3.1-8b");
  EXPECT_EQ(Quoted("</script><b>\"\\\n"), "</script><b>\"\\\n");
  EXPECT_EQ(Quoted("模型"), "模型");
}

TEST(QuotedNames, BecomeUtf8) {
  EXPECT_EQ(Quoted("a\xff"
                   "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(Quoted("\xE6\xA8"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(QuotedNames, AreCutAndSaySo) {
  EXPECT_EQ(Quoted("abcdef", 6), "abcdef");
  EXPECT_EQ(Quoted("abcdefg", 6), "abcdef…");
  // The cut goes through the second character.
  EXPECT_EQ(Quoted("模型", 4), "模\xEF\xBF\xBD…");
}

TEST(JsonWriter, WritesMembersAndLists) {
  JsonWriter writer;
  writer.Begin('{').Put("a", 1).Put("b", true).Put("c", "text").Begin("list", '[');
  writer.Begin('{').Put("d", 0.5).End('}').Begin('{').End('}').End(']').Put("last", std::optional<int>());
  writer.Begin("empty", '[').End(']').Begin("numbers", '[').Add(1).Add(2.5).End(']').End('}');
  EXPECT_EQ(json::parse(std::move(writer).Take()), json::parse(R"({"a":1,"b":true,"c":"text","list":[{"d":0.5},{}],
      "last":null,"empty":[],"numbers":[1,2.5]})"));
}

TEST(JsonWriter, KnowsThatJsonHasNoInfinity) {
  JsonWriter writer;
  writer.Begin('{').Put("never", std::numeric_limits<double>::infinity());
  writer.Put("broken", std::numeric_limits<double>::quiet_NaN()).End('}');
  EXPECT_EQ(std::move(writer).Take(), R"({"never":null,"broken":null})");
}

TEST(JsonWriter, KeepsTheMillisecondsOfWallTime) {
  JsonWriter writer;
  writer.Begin('{').Put("time", Milliseconds(1795433221.0625)).End('}');
  EXPECT_EQ(std::move(writer).Take(), R"({"time":1795433221.062})");
}

}  // namespace
}  // namespace penstock
