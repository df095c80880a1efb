#include "backends/dialect/assembly/merged_value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace penstock {
namespace {

using Json = nlohmann::json;

struct Merged {
  absl::Status status;
  std::string text;
  size_t added = 0;
};

Merged Merge(const std::vector<std::string>& values, MergedValue::Texts texts = MergedValue::Texts::kAppend) {
  MergedValue value;
  Merged merged;
  for (const std::string& each : values) {
    JsonScanner scanner(each);
    merged.status = value.Merge(scanner, texts, &merged.added);
    if (!merged.status.ok()) return merged;
  }
  JsonPieces pieces;
  value.Write(&pieces);
  while (pieces.Write(5, &merged.text)) continue;
  return merged;
}

Json Of(const std::vector<std::string>& values, MergedValue::Texts texts = MergedValue::Texts::kAppend) {
  const Merged merged = Merge(values, texts);
  EXPECT_TRUE(merged.status.ok()) << merged.status;
  return Json::parse(merged.text);
}

TEST(MergedValue, TextsAreStrungTogetherOrReplaced) {
  EXPECT_EQ(Of({R"("a\ud83d")", R"("\ude00b")"}), "a\U0001F600b");
  EXPECT_EQ(Of({R"("a")", R"("b")"}, MergedValue::Texts::kReplace), "b");
}

TEST(MergedValue, NullChangesNothing) {
  EXPECT_EQ(Of({"null"}), nullptr);
  EXPECT_EQ(Of({"[1]", "null", "[2]"}), Json::parse("[1,2]"));
  EXPECT_EQ(Of({R"({"a":null})", R"({"a":"x"})", R"({"a":null,"b":null})"}), Json::parse(R"({"a":"x","b":null})"));
}

TEST(MergedValue, NamesThatAreRepeatedStayAsTheyCameFirst) {
  EXPECT_EQ(Of({R"({"id":"","type":"t","role":null})", R"({"id":"i","type":"t","role":"r"})", R"({"id":"i"})"}),
            Json::parse(R"({"id":"i","type":"t","role":"r"})"));
}

TEST(MergedValue, ListsGrowAndTheirElementsMergeByIndex) {
  EXPECT_EQ(Of({R"([{"index":-1,"s":"a"}])", R"([7,{"index":1000000000,"s":"c"}])", R"([{"index":-1,"s":"b"}])"}),
            Json::parse(R"([7,{"index":-1,"s":"ab"},{"index":1000000000,"s":"c"}])"));
}

TEST(MergedValue, AValueOfAnotherKindReplacesTheOneBefore) {
  EXPECT_EQ(Of({R"("text")", R"({"a":1})"}), Json::parse(R"({"a":1})"));
  EXPECT_EQ(Of({R"({"a":[1]})", R"({"a":5})"}), Json::parse(R"({"a":5})"));
  EXPECT_EQ(Of({"1", "2.5"}), 2.5);
}

TEST(MergedValue, DeepValuesCountAsAWhole) {
  std::string deep = "1";
  for (int i = 0; i < 100; ++i) deep = R"({"a":)" + deep + "}";
  EXPECT_EQ(Of({deep, deep}), Json::parse(deep));
}

TEST(MergedValue, MembersAndMergedElementsAreBounded) {
  std::string members, elements;
  for (size_t i = 0; i <= MergedValue::kMostElements; ++i) {
    if (i <= MergedValue::kMostMembers) members += (i > 0 ? ",\"m" : "\"m") + std::to_string(i) + "\":1";
    elements += (i > 0 ? ",{\"index\":" : "{\"index\":") + std::to_string(i) + "}";
  }
  EXPECT_EQ(Merge({"{" + members + "}"}).status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Merge({"[" + elements + "]"}).status.code(), absl::StatusCode::kUnimplemented);
}

TEST(MergedValue, ManyMembersAndElementsMergeByTheirNames) {
  std::string members, elements;
  for (size_t i = 0; i < MergedValue::kMostElements; ++i) {
    const std::string number = std::to_string(i);
    if (i < MergedValue::kMostMembers) members += (i > 0 ? ",\"m" : "\"m") + number + R"(":"t")";
    elements += (i > 0 ? R"(,{"index":)" : R"({"index":)") + number + R"(,"s":"t"})";
  }
  const std::string value = R"({"o":{)" + members + R"(},"l":[)" + elements + "]}";
  const Json merged = Of({value, value});
  EXPECT_EQ(merged["o"].size(), MergedValue::kMostMembers);
  EXPECT_EQ(merged["l"].size(), MergedValue::kMostElements);
  for (const auto& [key, text] : merged["o"].items()) EXPECT_EQ(text, "tt") << key;
  for (size_t i = 0; i < MergedValue::kMostElements; ++i) {
    EXPECT_EQ(merged["l"][i], Json({{"index", i}, {"s", "tt"}}));
  }
}

TEST(MergedValue, TheIndexOfAnElementMayStandAnywhere) {
  const std::string first = R"([{"s":"a","index":3,"l":[{"t":"x","index":1},{"index":"none"},{}]}])";
  const std::string second = R"([{"l":[{"index":1,"t":"y"}],"s":"b","index":3},{"index":2}])";
  EXPECT_EQ(Of({first, second}),
            Json::parse(R"([{"index":2},{"s":"ab","index":3,"l":[{"index":"none"},{},{"t":"xy","index":1}]}])"));
}

TEST(MergedValue, ItsMemoryIsTold) {
  EXPECT_EQ(Merge({R"("abc")", R"("de")"}).added, 5u);
  EXPECT_GT(Merge({R"({"a":{}})"}).added, sizeof(MergedValue));
  EXPECT_GE(Merge({"[1,2]", "[3]"}).added, 3u);
}

TEST(MergedValue, WhatIsNoJsonIsAnError) {
  for (const char* bad : {"{", "[1", R"("\x")", R"({"a":tru)", "nul"}) {
    EXPECT_EQ(Merge({bad}).status.code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace penstock
