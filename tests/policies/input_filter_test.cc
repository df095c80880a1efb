#include "router/policies/variants/input_filter.h"

#include <gtest/gtest.h>

#include "router/policies/variants/penstock_variants.h"

namespace penstock {
namespace {

// Keeps the last event it was given.
class Listener : public AdmissionCore {
 public:
  explicit Listener(Event* heard) : heard_(heard) {}
  void Apply(const Event& event, Instant, std::vector<Action>& actions) override {
    *heard_ = event;
    actions.push_back(Park{RequestId(5), WaitReason::kMemory, 0});
  }
  std::optional<Instant> NextDeadline() const override { return Instant::FromSeconds(3); }
  CoreView View(Instant) const override {
    CoreView view;
    view.queued_requests = 4;
    return view;
  }
  std::optional<WaitView> WaitOf(RequestId) const override { return WaitView{WaitReason::kRunway, 2}; }

 private:
  Event* heard_;
};

void Shorten(RequestArrived& arrived) { arrived.prompt = Tokens(1); }
void DropPools(Fleet& fleet) { fleet.pools.clear(); }

class InputFilterTest : public ::testing::Test {
 protected:
  Event Heard(const Event& event, InputFilter::Changes changes) {
    InputFilter filter(std::make_unique<Listener>(&heard_), std::move(changes));
    std::vector<Action> actions;
    filter.Apply(event, Instant(), actions);
    EXPECT_EQ(actions.size(), 1u);
    return heard_;
  }

  Event heard_;
};

TEST_F(InputFilterTest, AnArrivalIsChangedBeforeTheCoreSeesItAndTheCallersStaysAsItIs) {
  RequestArrived arrived;
  arrived.prompt = Tokens(100);
  const Event event = arrived;
  EXPECT_EQ(std::get<RequestArrived>(Heard(event, {{}, {Shorten}})).prompt, Tokens(1));
  EXPECT_EQ(std::get<RequestArrived>(event).prompt, Tokens(100));
}

TEST_F(InputFilterTest, AFleetIsChangedBeforeTheCoreSeesIt) {
  FleetChanged changed;
  changed.fleet.pools.resize(2);
  EXPECT_TRUE(std::get<FleetChanged>(Heard(changed, {{DropPools}, {}})).fleet.pools.empty());
}

// The time to the first token that a core without these parts expects of a prompt of 20,000 tokens on an idle replica.
double ExpectedFirstToken(const std::string& policy) {
  Fleet fleet;
  fleet.models.push_back({"chat"});
  fleet.classes.push_back({"standard", Duration::Seconds(5), Duration::Seconds(1), Duration::Seconds(5)});
  ReplicaSpec replica;
  replica.name = "r0";
  replica.models = {ModelId(0)};
  replica.prior = {10, 0, 0, 0.05, 2};
  fleet.replicas.push_back(replica);
  const std::unique_ptr<AdmissionCore> core = MakePenstock(**ParsePenstockVariant(policy));
  std::vector<Action> actions;
  core->Apply(FleetChanged{fleet}, Instant(), actions);
  core->Apply(ReplicaHealth{ReplicaId(0), Health::kUp}, Instant(), actions);
  RequestArrived arrived;
  arrived.prompt = Tokens(20'000);
  core->Apply(arrived, Instant(), actions);
  return std::get<Forward>(actions.back()).expected_ttft.seconds();
}

TEST(PenstockVariant, WithoutAttentionALongPromptIsExpectedToTakeItsTokensOnly) {
  // 400 million pairs at 2 ms per million, less those of 20,000 tokens at 2,000 each.
  EXPECT_NEAR(ExpectedFirstToken("penstock") - ExpectedFirstToken("penstock:without=attention"), 0.8 - 0.08, 1e-6);
}

TEST_F(InputFilterTest, OtherEventsPassAsTheyAre) {
  FleetChanged changed;
  changed.fleet.pools.resize(2);
  EXPECT_EQ(Heard(changed, {{}, {Shorten}}), Event(changed));
  EXPECT_EQ(Heard(FirstToken{RequestId(3)}, {{DropPools}, {Shorten}}), Event(FirstToken{RequestId(3)}));
}

TEST_F(InputFilterTest, QuestionsAreAnsweredByTheCore) {
  const InputFilter filter(std::make_unique<Listener>(&heard_), {});
  EXPECT_EQ(filter.NextDeadline(), Instant::FromSeconds(3));
  EXPECT_EQ(filter.View(Instant()).queued_requests, 4);
  EXPECT_EQ(filter.WaitOf(RequestId(1))->position, 2);
}

TEST(PenstockVariants, WithoutAGpuWideLedgerEachReplicaHasAnEqualPartOfASharedPool) {
  Fleet fleet;
  fleet.models = {{"chat"}};
  fleet.pools.resize(1);
  fleet.pools[0].capacity = Amount(1000);
  fleet.replicas.resize(2);
  for (ReplicaSpec& replica : fleet.replicas) {
    replica.models = {ModelId(0)};
    replica.gpus = {0};
    replica.pools = {{PoolId(0), Footprint::InTokens(Tokens(1))}};
  }
  PenstockVariant variant;
  variant.gpu_wide = false;
  const std::unique_ptr<AdmissionCore> core = MakePenstock(variant);
  std::vector<Action> actions;
  core->Apply(FleetChanged{fleet}, Instant::FromSeconds(1), actions);
  const CoreView view = core->View(Instant::FromSeconds(1));
  ASSERT_EQ(view.pools.size(), 3u);
  EXPECT_EQ(view.pools[1].capacity, Amount(500));
  EXPECT_EQ(view.pools[2].capacity, Amount(500));
}

}  // namespace
}  // namespace penstock
