#include "router/http/pages/model_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "router/fleet/fleet_book.h"
#include "tests/http/plain_core.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Config TwoModels() {
  Config config;
  for (const std::string name : {"a", "b"}) {
    ReplicaConfig replica;
    replica.id = replica.model = name;
    replica.url = "http://127.0.0.1:9/" + name;
    config.replicas.push_back(replica);
  }
  return config;
}

// Knows the replicas of TwoModels and what events tell of them.
class ViewedCore final : public PlainCore {
 public:
  using PlainCore::PlainCore;
  void Apply(const Event& event, Instant now, std::vector<Action>& actions) override {
    if (const auto* told = std::get_if<ReplicaHealth>(&event)) replicas_[told->replica.value()].health = told->health;
    if (const auto* told = std::get_if<ReplicaResidency>(&event)) {
      replicas_[told->replica.value()].residency = told->residency;
    }
    PlainCore::Apply(event, now, actions);
  }
  CoreView View(Instant now) const override {
    CoreView view = PlainCore::View(now);
    for (const ReplicaView& replica : replicas_) view.replicas.push_back(replica);
    view.replicas[0].name = "a";
    view.replicas[1].name = "b";
    return view;
  }

 private:
  std::array<ReplicaView, 2> replicas_;
};

// A loop that runs only when the test turns it.
class ModelDeskTest : public ::testing::Test {
 protected:
  ModelDeskTest() {
    edge_.core = &core_;
    loop_.PostFleet(std::make_shared<const FleetView>(FleetBook(TwoModels())), [] {});
    Turn();
  }
  void Turn() {
    loop_.io().restart();
    loop_.io().poll();
  }
  ModelDesk::List Ask() {
    ModelDesk::List list;
    desk_.Ask([&list](ModelDesk::List made) { list = std::move(made); });
    while (list == nullptr) Turn();
    return list;
  }

  PlainOrders orders_;
  Edge edge_;
  EventLoop loop_{0, edge_};
  CoreHost core_{std::make_unique<ViewedCore>(orders_), loop_.io(), {&loop_.mailbox()}, {}};
  ModelDesk desk_{loop_};
};

TEST_F(ModelDeskTest, TheListIsMadeOnceUntilSomethingChanges) {
  EXPECT_EQ(desk_.Current(), nullptr);
  const ModelDesk::List list = Ask();
  EXPECT_EQ(desk_.Current(), list);
  core_.Submit(TimerFired{});
  EXPECT_EQ(desk_.Current(), list) << "nothing that clients see has changed";
  EXPECT_EQ(Ask(), list);
  EXPECT_EQ(orders_.views, 1);
}

TEST_F(ModelDeskTest, EveryChangeOfAStateIsSeen) {
  EXPECT_THAT(Ask()->OneJson("a"), HasSubstr("\"state\":\"down\""));
  core_.Submit(ReplicaHealth{ReplicaId(0), Health::kUp});
  EXPECT_EQ(desk_.Current(), nullptr);
  EXPECT_THAT(Ask()->OneJson("a"), HasSubstr("\"state\":\"up\""));
  EXPECT_THAT(Ask()->running(), HasSubstr("\"a\""));
  EXPECT_THAT(Ask()->running(), Not(HasSubstr("\"b\"")));
  ReplicaResidency asleep;
  asleep.replica = ReplicaId(0);
  asleep.residency = Residency::kAsleep;
  core_.Submit(asleep);
  EXPECT_THAT(Ask()->OneJson("a"), HasSubstr("\"state\":\"asleep\""));
  orders_.wake = true;
  const uint64_t before = core_.changes();
  core_.Submit(TimerFired{});
  EXPECT_GT(core_.changes(), before) << "an order changes a state too";
}

TEST_F(ModelDeskTest, AListKnowsItsModelsByName) {
  const ModelDesk::List list = Ask();
  EXPECT_THAT(list->json(), HasSubstr(list->OneJson("a") + "," + list->OneJson("b")));
  EXPECT_THAT(list->OneJson("c"), IsEmpty());
  EXPECT_THAT(list->tags(), HasSubstr("\"name\":\"b\""));
}

}  // namespace
}  // namespace penstock
