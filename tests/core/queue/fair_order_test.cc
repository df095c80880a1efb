#include "router/core/queue/fair_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/generator.h"

namespace penstock {
namespace {

const Instant kOrderStart = Instant::FromSeconds(100);

// So much runs, of tenants of weight 1.
RunningCharges Running(double service) { return {service, service}; }

class FairOrderTest : public ::testing::Test {
 protected:
  FairOrderTest() { Configure(FairnessMode::kWeighted); }
  void Configure(FairnessMode mode, std::vector<double> weights = {}) {
    Fleet fleet;
    fleet.fairness.mode = mode;
    for (size_t i = 0; i < weights.size(); ++i) {
      fleet.tenants.emplace_back().id = TenantId(i + 1);
      fleet.tenants.back().weight = weights[i];
    }
    terms_.Configure(fleet);
    order_.Configure(Duration());
  }
  RequestState* New(uint64_t tenant, double place_s, double service = 100) {
    RequestState& request = requests_.emplace_back();
    request.arrived.tenant = TenantId(tenant);
    request.sequence = requests_.size();
    request.service.expected = service;
    request.waiting.place = Instant::FromSeconds(place_s);
    return &request;
  }
  RequestState* Push(uint64_t tenant, double place_s, double service = 100) {
    RequestState* request = New(tenant, place_s, service);
    order_.Insert(request);
    return request;
  }
  void Serve(RequestState* request) {
    order_.Erase(request);
    order_.Charge(*request, kOrderStart);
  }
  std::vector<RequestState*> All(double running = 1e9) const {
    std::vector<RequestState*> out;
    order_.InOrder(Running(running), kOrderStart, [&](RequestState* request) {
      out.push_back(request);
      return true;
    });
    return out;
  }

  std::deque<RequestState> requests_;
  FairTerms terms_;
  FairOrder order_{&terms_};
};

TEST_F(FairOrderTest, TenantsTakeTurnsAndWithinOneTheEarliestPlaceGoesFirst) {
  RequestState* a2 = Push(1, 2);
  RequestState* a1 = Push(1, 1);
  RequestState* a3 = Push(1, 3);
  RequestState* b = Push(2, 9);
  EXPECT_EQ(All(), (std::vector<RequestState*>{a1, b, a2, a3}));
  EXPECT_EQ(order_.First(), a1);
  EXPECT_TRUE(order_.SumHolds());
}

TEST_F(FairOrderTest, ATenantOfTwiceTheWeightHasTwoTurns) {
  Configure(FairnessMode::kWeighted, {2, 1});
  for (int i = 0; i < 6; ++i) Push(1, i);
  for (int i = 0; i < 6; ++i) Push(2, i);
  const std::vector<RequestState*> all = All();
  const auto of_first = std::count_if(all.begin(), all.begin() + 9,
                                      [](const RequestState* request) { return request->arrived.tenant.value() == 1; });
  EXPECT_EQ(of_first, 6);
}

TEST_F(FairOrderTest, WithoutFairnessAllAreOneTenant) {
  Configure(FairnessMode::kNone);
  RequestState* a1 = Push(1, 1);
  RequestState* a2 = Push(1, 2);
  RequestState* b = Push(2, 9);
  RequestState* late = New(2, 1.5);
  EXPECT_EQ(All(0), (std::vector<RequestState*>{a1, a2, b}));
  EXPECT_EQ(order_.Ahead(*late, Running(0), kOrderStart, 200), 1);
  Serve(a1);
  EXPECT_FALSE(a1->service.paid);
  EXPECT_EQ(order_.ledger().size(), 0u);
  EXPECT_TRUE(order_.SumHolds());
}

TEST_F(FairOrderTest, TheRequestsAheadAreThoseThatAreVisitedBefore) {
  bench::Generator generator(7);
  for (int i = 0; i < 60; ++i) {
    Push(1 + generator.Next() % 7, 10 * generator.Uniform(), 50 + 100 * generator.Uniform());
  }
  for (int i = 0; i < 10; ++i) Serve(order_.First());
  const std::vector<RequestState*> all = All();
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(order_.Ahead(*all[i], Running(1e9), kOrderStart, 200), static_cast<int64_t>(i)) << i;
  RequestState* newcomer = New(3, 5);
  const int64_t ahead = order_.Ahead(*newcomer, Running(1e9), kOrderStart, 200);
  order_.Insert(newcomer);
  EXPECT_EQ(All()[static_cast<size_t>(ahead)], newcomer);
  EXPECT_EQ(order_.Ahead(*newcomer, Running(1e9), kOrderStart, 3), std::min<int64_t>(ahead, 3));
}

TEST_F(FairOrderTest, ARequestThatAnEngineHadIsPaidForAndGoesFirst) {
  RequestState* request = Push(1, 50);
  Serve(request);
  RequestState* other = Push(2, 1);
  order_.Insert(request);
  EXPECT_EQ(All(), (std::vector<RequestState*>{request, other}));
  EXPECT_EQ(order_.Ahead(*request, Running(0), kOrderStart, 200), 0);
  Serve(request);
  EXPECT_EQ(order_.ledger().Find(TenantId(1))->counter, 100) << "charged once";
  order_.Settle(*request, 30, kOrderStart);
  EXPECT_EQ(order_.ledger().Find(TenantId(1))->counter, 30);
  order_.Settle(*request, 30, kOrderStart);
  EXPECT_EQ(order_.ledger().Find(TenantId(1))->counter, 30) << "settled once";
}

TEST_F(FairOrderTest, AHeadThatDoesNotFitHoldsTheOthersBackUntilItIsExcused) {
  RequestState* blocked = Push(1, 1);
  RequestState* second = Push(2, 2);
  Serve(second);
  RequestState* third = Push(2, 3);
  EXPECT_EQ(All(400), (std::vector<RequestState*>{blocked, third})) << "a lead of a part of what runs is allowed";
  EXPECT_EQ(All(300), (std::vector<RequestState*>{blocked}));
  EXPECT_TRUE(order_.HoldsBack(Running(300), kOrderStart));
  EXPECT_FALSE(order_.MayGo(*third, Running(300), kOrderStart));
  EXPECT_EQ(order_.Ahead(*third, Running(300), kOrderStart, 200), 200);
  order_.Excuse(blocked);
  EXPECT_EQ(All(300), (std::vector<RequestState*>{blocked, third}));
}

TEST_F(FairOrderTest, TheLeadFallsWhileTheTenantBehindGetsNothing) {
  order_.Configure(Duration::Seconds(10));
  RequestState* blocked = Push(1, 1);
  blocked->waiting.since = kOrderStart;
  order_.Erase(blocked);
  order_.Insert(blocked);
  Serve(Push(2, 2));
  RequestState* ahead = Push(2, 3);
  const auto may_go = [&](double after_s, double running) {
    return order_.MayGo(*ahead, Running(running), kOrderStart + Duration::Seconds(after_s));
  };
  // Tenant 2 is ahead by 100.
  EXPECT_TRUE(may_go(0, 100 / ServiceLedger::kMostLead + 1));
  EXPECT_FALSE(may_go(1, 100 / ServiceLedger::kMostLead + 1));
  EXPECT_TRUE(may_go(10, 100 / FairOrder::kLeastLead + 1)) << "by a part of what runs it may be ahead for ever";
  EXPECT_FALSE(may_go(10, 100 / FairOrder::kLeastLead - 1));
  for (size_t i = 0; i < FairOrder::kFew; ++i) Push(1, 5);
  EXPECT_TRUE(may_go(10, 100 / ServiceLedger::kMostLead + 1)) << "a tenant that floods waits by its own fault";
}

TEST_F(FairOrderTest, ALargerWeightNeverLetsOthersFurtherAhead) {
  for (const double weight : {1, 4, 100}) {
    Configure(FairnessMode::kWeighted, {weight, 1});
    RequestState* blocked = Push(1, 1);
    RequestState* second = Push(2, 2);
    Serve(second);
    RequestState* third = Push(2, 3);
    const auto counter = [this](uint64_t tenant) { return order_.ledger().Find(TenantId(tenant))->counter; };
    const double ahead = counter(2) - counter(1);
    ASSERT_GT(ahead, 0);
    const double allowed = ahead * weight / ServiceLedger::kMostLead;
    EXPECT_TRUE(order_.MayGo(*third, Running(allowed + 1), kOrderStart)) << weight;
    EXPECT_FALSE(order_.MayGo(*third, Running(allowed - 1), kOrderStart)) << weight;
    for (RequestState* request : {blocked, third}) order_.Erase(request);
    order_.Settle(*second, 0, kOrderStart);
  }
}

TEST_F(FairOrderTest, AnotherFairnessKeepsTheRequests) {
  RequestState* a1 = Push(1, 1);
  RequestState* a2 = Push(1, 2);
  RequestState* b = Push(2, 9);
  Serve(a1);
  Configure(FairnessMode::kNone);
  EXPECT_EQ(All(), (std::vector<RequestState*>{a2, b}));
  order_.Settle(*a1, 7, kOrderStart);
  EXPECT_TRUE(order_.SumHolds()) << "a charge of older books is not settled";
  Configure(FairnessMode::kWeighted);
  EXPECT_EQ(All(), (std::vector<RequestState*>{a2, b}));
  EXPECT_TRUE(order_.SumHolds());
}

}  // namespace
}  // namespace penstock
