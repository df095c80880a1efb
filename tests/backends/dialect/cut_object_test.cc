// An output limit cuts the arguments of a call: the members that are whole are left.
#include "backends/dialect/assembly/cut_object.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace penstock {
namespace {

TEST(CutObject, OnlyMembersThatAreWholeAreLeft) {
  EXPECT_EQ(WholeMembers(R"({"city": "Par)"), "{}");
  EXPECT_EQ(WholeMembers(R"({"city": "Paris")"), R"({"city": "Paris"})");
  EXPECT_EQ(WholeMembers(R"({"a":1,"b":{"c":[2]},"d":"x)"), R"({"a":1,"b":{"c":[2]}})");
  EXPECT_EQ(WholeMembers(R"({"a":1,"b":12)"), R"({"a":1})");
  EXPECT_EQ(WholeMembers(R"({"a":1,"b":tru)"), R"({"a":1})");
  EXPECT_EQ(WholeMembers(R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(WholeMembers(R"({"a)"), "{}");
  for (const char* none : {"", "{", " ", "[1,2", "x", "\"{"}) EXPECT_EQ(WholeMembers(none), "{}") << none;
}

TEST(CutObject, EveryCutOfAnObjectIsAnObjectOfItsMembers) {
  const std::string text = R"( {"a": -1.5e3, "b\"": "q\\\"}", "c": [{"d": null}, "]"], "e": {}, "f": true} )";
  const auto whole = nlohmann::json::parse(text);
  for (size_t size = 0; size <= text.size(); ++size) {
    const std::string left = WholeMembers(text.substr(0, size));
    ASSERT_TRUE(IsJsonObject(left)) << left;
    const auto members = nlohmann::json::parse(left);
    for (const auto& [key, value] : members.items()) EXPECT_EQ(value, whole[key]) << left;
  }
}

}  // namespace
}  // namespace penstock
