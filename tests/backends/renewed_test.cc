#include "backends/engines/contract/renewed.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Discovery Known() {
  Discovery known;
  known.kind = EngineKind::kVllm;
  known.version = "0.11.0";
  known.models = {{"base", Tokens(4096)}, {"adapter", Tokens(4096)}};
  known.kv_tokens = Tokens(50'000);
  known.block = Tokens(16);
  known.max_sequences = 64;
  known.batch_budget = Tokens(2048);
  known.sequence_limit = Tokens(4000);
  return known;
}

std::vector<std::string> NamesOf(const Discovery& facts) {
  std::vector<std::string> names;
  names.reserve(facts.models.size());
  for (const ServedModel& model : facts.models) names.push_back(model.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Renewed, TheSameFactsStayEqual) { EXPECT_EQ(Renewed(Known(), Known()), Known()); }

TEST(Renewed, ModelsComeAndGoAndTheFirstStaysTheFirst) {
  Discovery found = Known();
  found.models = {{"young", Tokens(8192)}, {"adapter", Tokens(4096)}, {"base", Tokens(4096)}};
  EXPECT_EQ(NamesOf(Renewed(Known(), found)), (Names{"base", "adapter", "young"}));
  found.models = {{"young", Tokens(8192)}, {"base", Tokens(4096)}};
  EXPECT_EQ(NamesOf(Renewed(Known(), found)), (Names{"base", "young"}));
}

TEST(Renewed, OnlyTheSameEngineMissesModels) {
  Discovery found = Known();
  EXPECT_TRUE(Missing(Known(), found).empty());
  found.models = {{"young", Tokens(8192)}, {"base", Tokens(4096)}};
  ASSERT_EQ(Missing(Known(), found).size(), 1u);
  EXPECT_EQ(Missing(Known(), found)[0].name, "adapter");
  found.models = {{"young", Tokens(8192)}};
  EXPECT_TRUE(Missing(Known(), found).empty()) << "it is another engine";
  found.models = {{"base", Tokens(4096)}};
  found.kind = EngineKind::kOllama;
  EXPECT_TRUE(Missing(Known(), found).empty()) << "it is of another kind";
}

TEST(Renewed, AnotherOrderIsNoChange) {
  Discovery found = Known();
  std::swap(found.models[0], found.models[1]);
  EXPECT_EQ(Renewed(Known(), found), Known());
}

TEST(Renewed, WhatIsNotReportedAnyMoreStaysAsItWas) {
  Discovery found;
  found.kind = EngineKind::kVllm;
  EXPECT_EQ(Renewed(Known(), found), Known());
  found.models = {{"base", Tokens(0)}, {"adapter", Tokens(0)}};
  EXPECT_EQ(Renewed(Known(), found), Known());
}

TEST(Renewed, RanksStayWhileThePoolIsNotReported) {
  Discovery known = Known();
  known.ranks = {{0, Tokens(100)}, {1, Tokens(100)}};
  Discovery found = Known();
  found.kv_tokens = Tokens(0);
  EXPECT_EQ(Renewed(known, found).ranks, known.ranks);
  found.kv_tokens = Tokens(100);
  EXPECT_TRUE(Renewed(known, found).ranks.empty()) << "the engine came back with one";
}

TEST(Renewed, OtherFiguresCount) {
  Discovery found = Known();
  found.kv_tokens = Tokens(70'000);
  found.models[0].max_context = Tokens(8192);
  EXPECT_EQ(Renewed(Known(), found), found);
}

TEST(Renewed, AnotherEngineHasNothingOfTheKnownOne) {
  Discovery other;
  other.kind = EngineKind::kVllm;
  other.models = {{"other", Tokens(2048)}};
  EXPECT_EQ(Renewed(Known(), other), other);
  other.kind = EngineKind::kOllama;
  other.models = {{"base", Tokens(0)}};
  EXPECT_EQ(Renewed(Known(), other), other);
}

TEST(HoldsLess, ASmallerPoolContextOrSequenceOfTheSameEngineCounts) {
  EXPECT_FALSE(HoldsLess(Known(), Known()));
  Discovery now = Known();
  now.kv_tokens = Tokens(49'999);
  EXPECT_TRUE(HoldsLess(now, Known()));
  EXPECT_FALSE(HoldsLess(Known(), now)) << "more is no loss";
  now = Known();
  now.models[1].max_context = Tokens(4095);
  EXPECT_TRUE(HoldsLess(now, Known()));
  now = Known();
  now.sequence_limit = Tokens(1);
  EXPECT_TRUE(HoldsLess(now, Known()));
}

TEST(HoldsLess, WhatIsNotReportedAndOtherEnginesDoNot) {
  Discovery now = Known();
  now.kv_tokens = now.sequence_limit = now.models[0].max_context = Tokens(0);
  EXPECT_FALSE(HoldsLess(now, Known()));
  now = Known();
  now.kv_tokens = Tokens(1);
  now.models = {{"other", Tokens(4096)}};
  EXPECT_FALSE(HoldsLess(now, Known()));
  now = Known();
  now.kv_tokens = Tokens(1);
  now.kind = EngineKind::kSglang;
  EXPECT_FALSE(HoldsLess(now, Known()));
}

TEST(Renewed, AnEngineWithoutModelsSoFarGetsItsFirst) {
  Discovery empty = Known();
  empty.models.clear();
  EXPECT_EQ(Renewed(empty, Known()), Known());
}

}  // namespace
}  // namespace penstock
