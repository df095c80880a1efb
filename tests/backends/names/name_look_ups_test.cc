#include "backends/names/name_look_ups.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "backends/names/look_ups_together.h"
#include "tests/backends/names/hanging_names.h"

namespace penstock {
namespace {

using Answers = std::vector<std::optional<NameAnswer>>;

constexpr Duration kLong = Duration::Seconds(30);

std::future<NameAnswer> Ask(NameLookUps& look_ups, const std::string& name) {
  auto promise = std::make_shared<std::promise<NameAnswer>>();
  std::future<NameAnswer> answer = promise->get_future();
  look_ups.LookUp(name, [promise](const NameAnswer& found) { promise->set_value(found); });
  return answer;
}

bool IsReady(const std::future<NameAnswer>& answer) {
  return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

TEST(NameLookUpsTest, ANameThatHangsDelaysNoOther) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  std::vector<std::future<NameAnswer>> hung;
  for (int i = 0; i < 20; ++i) hung.push_back(Ask(look_ups, "slow" + std::to_string(i)));
  names.WaitForAsked(20);
  EXPECT_EQ(Ask(look_ups, "good").get().addresses.size(), 1u);
  for (const auto& answer : hung) EXPECT_FALSE(IsReady(answer));
  names.Release();
  for (auto& answer : hung) EXPECT_EQ(answer.get().addresses.size(), 1u) << "its result is taken later";
}

TEST(NameLookUpsTest, ANameIsLookedUpOnceForAllWhoAskMeanwhile) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  std::future<NameAnswer> first = Ask(look_ups, "slow");
  names.WaitForAsked(1);
  std::future<NameAnswer> second = Ask(look_ups, "slow");
  names.Release();
  EXPECT_EQ(first.get().addresses, second.get().addresses);
  EXPECT_EQ(names.asked(), 1);
  Ask(look_ups, "slow").wait();
  EXPECT_EQ(names.asked(), 2) << "later it is looked up anew";
}

TEST(NameLookUpsTest, MoreNamesThatHangThanPlacesDelayNoOtherForLong) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  std::vector<std::future<NameAnswer>> hung;
  for (int i = 0; i < 100; ++i) hung.push_back(Ask(look_ups, "slow" + std::to_string(i)));
  std::future<NameAnswer> good = Ask(look_ups, "good");
  ASSERT_EQ(good.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  for (const auto& answer : hung) EXPECT_FALSE(IsReady(answer));
}

TEST(NameLookUpsTest, NamesBeyondTheBoundWaitForAPlace) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  std::vector<std::future<NameAnswer>> all;
  for (int i = 0; i < 100; ++i) all.push_back(Ask(look_ups, "slow" + std::to_string(i)));
  names.WaitForAsked(64);
  EXPECT_EQ(names.asked(), 64);
  names.Release();
  for (auto& answer : all) EXPECT_FALSE(answer.get().error);
}

TEST(NameLookUpsTest, ANameThatDoesNotExistIsAnError) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  EXPECT_EQ(Ask(look_ups, "none").get().error, boost::asio::error::host_not_found);
}

TEST(NameLookUpsTest, TheOwnerMayGoWhileALookUpHangs) {
  HangingNames names;
  std::future<NameAnswer> answer;
  {
    NameLookUps look_ups(names.source());
    answer = Ask(look_ups, "slow");
    names.WaitForAsked(1);
  }
  EXPECT_FALSE(IsReady(answer));
  names.Release();
  EXPECT_FALSE(answer.get().error);
}

TEST(LookUpsTogether, AllNamesShareOneLimitAndThoseInTimeHaveTheirAnswers) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  const Answers answers = LookUpTogether({"slow1", "good", "slow2"}, Duration::Milliseconds(300), look_ups);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_FALSE(answers[0]);
  EXPECT_TRUE(answers[1] && answers[1]->addresses.size() == 1);
  EXPECT_FALSE(answers[2]);
}

TEST(LookUpsTogether, NumbersNeedNoLookUp) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  const Answers answers = LookUpTogether({"10.0.0.1", "fd00::1"}, kLong, look_ups);
  ASSERT_TRUE(answers[0] && answers[1]);
  EXPECT_EQ(answers[0]->addresses.front().to_string(), "10.0.0.1");
  EXPECT_EQ(answers[1]->addresses.front().to_string(), "fd00::1");
  EXPECT_EQ(names.asked(), 0);
}

TEST(LookUpsTogether, ItReturnsWithTheLastAnswer) {
  HangingNames names;
  NameLookUps look_ups(names.source());
  const Answers answers = LookUpTogether({"good", "none", "other"}, kLong, look_ups);
  EXPECT_TRUE(answers[0] && answers[0]->addresses.size() == 1);
  EXPECT_TRUE(answers[1] && answers[1]->error);
  EXPECT_TRUE(answers[2] && answers[2]->addresses.size() == 1);
  EXPECT_TRUE(LookUpTogether({}, kLong, look_ups).empty());
}

}  // namespace
}  // namespace penstock
