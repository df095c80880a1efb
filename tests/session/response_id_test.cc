#include "router/responses/response_id.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock::testing {
namespace {

constexpr TenantId kRed{7}, kBlue{8};

TEST(ResponseIds, AnIdNamesItsReplicaToItsTenantOnly) {
  const ReplicaMarks engine = MarksOf("engine-1", "http://a:1");
  const std::string id = NewResponseId(engine, kRed);
  EXPECT_EQ(ReplicaIn(id, kRed), engine);
  EXPECT_EQ(ReplicaIn(id, kBlue), std::nullopt);
  EXPECT_EQ(ReplicaIn(id, TenantId()), std::nullopt);
  const ReplicaMarks renamed = MarksOf("engine-2", "http://a:1");
  EXPECT_NE(renamed.name, engine.name);
  EXPECT_EQ(renamed.address, engine.address);
  const ReplicaMarks moved = MarksOf("engine-1", "http://b:1");
  EXPECT_EQ(moved.name, engine.name);
  EXPECT_NE(moved.address, engine.address);
}

TEST(ResponseIds, TheIdsOfARunAreAllDifferent) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(NewResponseId(MarksOf("engine", "http://a:1"), kRed));
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(ResponseIds, AChangedCharacterMakesAnIdNobodys) {
  const std::string id = NewResponseId(MarksOf("engine", "http://a:1"), kRed);
  for (size_t i = 0; i < id.size(); ++i) {
    std::string other = id;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_EQ(ReplicaIn(other, kRed), std::nullopt) << other;
  }
}

TEST(ResponseIds, AnyOtherTextIsNobodys) {
  const std::string id = NewResponseId(MarksOf("engine", "http://a:1"), kRed);
  for (const std::string& text :
       {std::string(), std::string("resp_"), id.substr(1), id + "0", id.substr(0, id.size() - 1),
        std::string(10'000, 'a'), std::string(53, '\0'), "RESP_" + id.substr(5)}) {
    EXPECT_FALSE(IsResponseId(text)) << text.size();
    EXPECT_EQ(ReplicaIn(text, kRed), std::nullopt) << text.size();
  }
}

}  // namespace
}  // namespace penstock::testing
