// Servers of one model that differ in size, and requests that only one server can take. Nobody waits for a server that
// it cannot use, and no free server waits for those requests.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::Text;

constexpr ClassId kStandard(1);

Fleet Uneven(int64_t large, int64_t small, bool enforce_goals = false) {
  FleetOptions options;
  options.replicas = 2;
  options.enforce_goals = enforce_goals;
  options.queue = Duration::Seconds(600);
  Fleet fleet = MakeFleet(options);
  fleet.pools[0].capacity = Amount(large);
  fleet.pools[1].capacity = Amount(small);
  return fleet;
}

class UnevenCore : public CoreStepper {
 public:
  using CoreStepper::CoreStepper;

  std::vector<Action> ArriveOf(uint64_t id, int64_t prompt, uint64_t tenant) {
    RequestArrived event;
    event.request = RequestId(id);
    event.service_class = kStandard;
    event.tenant = TenantId(tenant);
    event.prompt = Tokens(prompt);
    return Send(event);
  }
  std::vector<Action> ArriveAt(uint64_t id, uint32_t home) {
    RequestArrived event;
    event.request = RequestId(id);
    event.service_class = kStandard;
    event.prompt = Tokens(100);
    event.home = ReplicaId(home);
    return Send(event);
  }
};

bool Forwards(const std::vector<Action>& actions, uint64_t id, uint32_t replica) {
  return std::any_of(actions.begin(), actions.end(), [&](const Action& action) {
    const auto* forward = std::get_if<Forward>(&action);
    return forward != nullptr && forward->request == RequestId(id) && forward->replica == ReplicaId(replica);
  });
}

TEST(UnevenServers, LongPromptsKeepNobodyFromAServerThatIsTooSmallForThem) {
  UnevenCore core(Uneven(70'000, 8'000));
  for (uint64_t id = 1; id <= 60; ++id) core.Arrive(id, 30'000);
  for (uint64_t id = 100; id < 103; ++id) {
    std::vector<Action> actions = core.Arrive(id, 300);
    for (const Action& action : core.RunTimers(core.now + Duration::Milliseconds(100))) actions.push_back(action);
    EXPECT_TRUE(Forwards(actions, id, 1)) << Text(actions);
  }
}

TEST(UnevenServers, ALongPromptOfATenantHoldsNoOtherTenantBackThere) {
  Fleet fleet = Uneven(70'000, 8'000);
  fleet.fairness = {FairnessMode::kLeads, ServiceUnit::kTokens};
  UnevenCore core(fleet);
  core.ArriveOf(1, 30'000, 1);
  core.ArriveOf(2, 30'000, 1);
  ASSERT_NE(Only<Park>(core.ArriveOf(3, 45'000, 3)), nullptr);
  for (uint64_t id = 100; id < 600; ++id) {
    std::vector<Action> actions = core.ArriveOf(id, 500, 2);
    for (const Action& action : core.RunTimers(core.now)) actions.push_back(action);
    const bool forwarded = std::any_of(actions.begin(), actions.end(),
                                       [](const Action& action) { return std::holds_alternative<Forward>(action); });
    ASSERT_TRUE(forwarded) << id << "\n" << Text(actions);
    core.Wait(Duration::Milliseconds(50));
    core.Send(FirstToken{RequestId(id)});
    core.Finish(id, 100);
  }
}

TEST(UnevenServers, BestEffortUsesAServerThatIsTooSmallForTheFirstOfIt) {
  UnevenCore core(Uneven(70'000, 46'000, /*enforce_goals=*/true));
  ASSERT_TRUE(Forwards(core.Arrive(1, 47'000), 1, 0)) << "a prefill of 2.35 s, and a goal of 2 s";
  ASSERT_TRUE(Forwards(core.Arrive(2, 41'000), 2, 1));
  core.Wait(Duration::Milliseconds(10));
  core.Arrive(3, 48'000);
  core.Wait(Duration::Milliseconds(10));
  core.Arrive(4, 41'000);
  core.Send(FirstToken{RequestId(2)});
  std::vector<Action> actions = core.Finish(2, 1);
  for (const Action& action : core.RunTimers(core.now + Duration::Milliseconds(100))) actions.push_back(action);
  EXPECT_TRUE(Forwards(actions, 4, 1)) << Text(actions);
}

TEST(UnevenServers, ARequestOfAHomeThatIsDownForGoodIsRefusedThoughItWaits) {
  Fleet fleet = Uneven(8'000, 8'000);
  fleet.replicas[1].max_sequences = 1;
  UnevenCore core(fleet);
  ASSERT_TRUE(Forwards(core.ArriveAt(1, 1), 1, 1));
  ASSERT_NE(Only<Park>(core.ArriveAt(2, 1)), nullptr);
  core.Send(ReplicaHealth{ReplicaId(1), Health::kDown});
  const std::vector<Action> actions = core.RunTimers(core.now + Duration::Seconds(10));
  const auto refused = std::find_if(actions.begin(), actions.end(),
                                    [](const Action& action) { return std::holds_alternative<Refuse>(action); });
  ASSERT_NE(refused, actions.end()) << Text(actions);
  EXPECT_EQ(std::get<Refuse>(*refused).request, RequestId(2));
  EXPECT_EQ(std::get<Refuse>(*refused).reason, Refusal::kNoReplica);
}

}  // namespace
}  // namespace penstock
