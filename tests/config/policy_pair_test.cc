// `policy:` as one name, as a text of two, and as a mapping of two.
#include "config/values/policy_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PolicyPair PairOf(const std::string& policy) {
  return PolicyPairOf(Parsed(WithReplica("policy: " + policy + "\n")).policy);
}

std::string CheckedFindings(const std::string& policy) {
  LoadOptions options;
  options.policies = {{"first", "second"}, [](absl::string_view text) {
                        return text == "second:a=1" || text == "first" ? absl::OkStatus()
                                                                       : absl::InvalidArgumentError("it is bad");
                      }};
  const std::string yaml = "policy: " + policy + "\n" + WithReplica("");
  return std::string(ParseConfig(yaml, "f.yaml", options).status().message());
}

TEST(PolicyPair, APlainNameHasNoShadow) {
  EXPECT_EQ(PairOf("round_robin").decide, "round_robin");
  EXPECT_EQ(PairOf("round_robin").shadow, "");
  EXPECT_EQ(PairOf("{decide: 'least_load:veto=0.9'}").decide, "least_load:veto=0.9");
}

TEST(PolicyPair, AMappingNamesBoth) {
  const PolicyPair pair = PairOf("{decide: round_robin, shadow: 'penstock:without=early'}");
  EXPECT_EQ(pair.decide, "round_robin");
  EXPECT_EQ(pair.shadow, "penstock:without=early");
  EXPECT_EQ(PairOf("round_robin shadow penstock:without=early").shadow, pair.shadow) << "as one text";
}

TEST(PolicyPair, BothGoThroughTheGivenCheck) {
  EXPECT_THAT(CheckedFindings("{decide: first, shadow: 'second:a=1'}"), IsEmpty());
  EXPECT_THAT(CheckedFindings("{decide: furst, shadow: first}"),
              HasSubstr("policy.decide: unknown name \"furst\" (did you mean \"first\"?), known: first second"));
  EXPECT_THAT(CheckedFindings("{decide: first, shadow: 'second:a=2'}"), HasSubstr("policy.shadow: it is bad"));
  EXPECT_THAT(CheckedFindings("first shadow second:a=2"), HasSubstr("policy: it is bad"));
  EXPECT_THAT(CheckedFindings("{shadow: first}"), HasSubstr("policy.decide: is required"));
  EXPECT_THAT(CheckedFindings("{decide: first, shaddow: first}"), HasSubstr("shaddow"));
}

TEST(PolicyPair, ItIsPrintedAsAMappingThatReadsBack) {
  const Config config = Parsed(WithReplica("policy: {decide: round_robin, shadow: penstock}\n"));
  const std::string printed = PrintConfig(config);
  EXPECT_THAT(printed, HasSubstr("policy: {decide: round_robin, shadow: penstock}"));
  EXPECT_EQ(Parsed(printed).policy, config.policy);
}

TEST(PolicyPair, AChangedShadowNeedsARestart) {
  const Config running = Parsed(WithReplica("policy: {decide: round_robin, shadow: penstock}\n"));
  const Config fresh = Parsed(WithReplica("policy: round_robin\n"));
  EXPECT_THAT(KeysThatNeedRestart(running, fresh), ::testing::ElementsAre("policy"));
}

TEST(PolicyPair, APolicyInItsOwnShadowIsNamed) {
  EXPECT_THAT(Warnings(Parsed(WithReplica("policy: {decide: round_robin, shadow: round_robin}\n"))),
              ElementsAre(HasSubstr("round_robin in its own shadow")));
  EXPECT_THAT(Warnings(Parsed(WithReplica("policy: {decide: round_robin, shadow: penstock}\n"))), IsEmpty());
}

}  // namespace
}  // namespace penstock
