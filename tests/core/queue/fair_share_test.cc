// The bounds of fair shares, over every window, for each pair of 50 tenants under random arrivals.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "base/generator.h"
#include "router/core/queue/fair_order.h"

namespace penstock {
namespace {

const Instant kShareStart = Instant::FromSeconds(100);

// Tenants under random arrivals on a server of several replicas: every request takes a random service, forecast with an
// error. Some requests do not fit while others run. Watches the service of each pair over each window in which both
// wait.
class SharedServer {
 public:
  static constexpr int kTenants = 50;
  static constexpr int kReplicas = 4;
  static constexpr size_t kRows = 8;
  static constexpr double kLargest = 2000;

  // `look_past`: requests behind one that does not fit are tried.
  SharedServer(uint64_t seed, double most_error, bool look_past, FairnessMode mode = FairnessMode::kWeighted)
      : generator_(seed), most_error_(most_error), look_past_(look_past) {
    Fleet fleet;
    fleet.fairness.mode = mode;
    for (int i = 0; i < kTenants; ++i) {
      TenantSpec& tenant = fleet.tenants.emplace_back();
      tenant.id = TenantId(static_cast<uint64_t>(i));
      tenant.weight = tenants_[i].weight = 0.5 + static_cast<double>(generator_.Next() % 8) / 2;
    }
    terms_.Configure(fleet);
    order_.Configure(Duration());
  }

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      for (int i = 0; i < kTenants; ++i) {
        // Each tenant has bursts and pauses of its own.
        const bool busy = (step / (50 + 7 * i)) % 3 != 2;
        if (busy && generator_.Uniform() < 0.08) Arrive(i);
      }
      End();
      Dispatch();
      Watch();
    }
  }

  // The widest difference of a pair over a window in which both wait.
  double worst() const { return worst_; }
  // The most by which a tenant that waits fell behind the promise over a window.
  double worst_behind() const { return worst_behind_; }
  double most_running() const { return most_running_; }
  double LargestCharge() const { return kLargest * (1 + most_error_) / 0.5; }
  int served() const { return served_; }
  const FairOrder& order() const { return order_; }

 private:
  struct Tenant {
    double weight = 1;
    double service = 0;  // Over the weight.
    int waiting = 0;
    double least_behind = 0;  // The promise, within the present window.
  };
  struct Pair {
    bool open = false;
    double low = 0;
    double high = 0;
  };

  void Arrive(int tenant) {
    if (tenants_[tenant].waiting > 40) return;
    RequestState& request = requests_.emplace_back();
    request.arrived.tenant = TenantId(static_cast<uint64_t>(tenant));
    request.sequence = requests_.size();
    request.waiting.place = Instant() + Duration::Seconds(generator_.Uniform() * 10);
    true_service_[&request] = 10 + (kLargest - 10) * generator_.Uniform();
    request.service.expected = true_service_[&request] * (1 + most_error_ * (2 * generator_.Uniform() - 1));
    order_.Insert(&request);
    ++tenants_[tenant].waiting;
  }
  void End() {
    for (std::vector<RequestState*>& replica : running_) {
      std::erase_if(replica, [&](RequestState* request) {
        if (generator_.Uniform() > 0.1) return false;
        const size_t tenant = request->arrived.tenant.value();
        order_.Settle(*request, true_service_[request], kShareStart);
        tenants_[tenant].service += (true_service_[request] - request->service.expected) / tenants_[tenant].weight;
        return true;
      });
    }
  }
  void Dispatch() {
    for (bool progress = true; progress;) {
      progress = false;
      std::vector<RequestState*> candidates;
      order_.InOrder(order_.ledger().running(), kShareStart, [&](RequestState* request) {
        candidates.push_back(request);
        return candidates.size() < 13;
      });
      for (RequestState* request : candidates) {
        const size_t replica = generator_.Next() % kReplicas;
        // A large request fits only into a replica that is half empty.
        const size_t rows = true_service_[request] > 1500 ? kRows / 2 : kRows;
        if (running_[replica].size() >= rows) {
          if (look_past_) continue;
          break;
        }
        order_.Erase(request);
        order_.Charge(*request, kShareStart);
        running_[replica].push_back(request);
        const size_t tenant = request->arrived.tenant.value();
        tenants_[tenant].service += request->service.expected / tenants_[tenant].weight;
        --tenants_[tenant].waiting;
        ++served_;
        progress = true;
      }
    }
    most_running_ = std::max(most_running_, order_.ledger().running().over_weights);
  }
  void Watch() {
    for (int i = 0; i < kTenants; ++i) {
      const double behind = order_.ledger().promised() - tenants_[i].service;
      tenants_[i].least_behind = tenants_[i].waiting == 0 ? behind : std::min(tenants_[i].least_behind, behind);
      worst_behind_ = std::max(worst_behind_, behind - tenants_[i].least_behind);
    }
    for (int i = 0; i < kTenants; ++i) {
      for (int j = 0; j < i; ++j) {
        Pair& pair = pairs_[i][j];
        const double lead = tenants_[i].service - tenants_[j].service;
        if (tenants_[i].waiting == 0 || tenants_[j].waiting == 0) {
          pair.open = false;
        } else if (!pair.open) {
          pair = {true, lead, lead};
        } else {
          pair.low = std::min(pair.low, lead);
          pair.high = std::max(pair.high, lead);
          worst_ = std::max(worst_, pair.high - pair.low);
        }
      }
    }
  }

  bench::Generator generator_;
  const double most_error_;
  const bool look_past_;
  std::deque<RequestState> requests_;
  FairTerms terms_;
  FairOrder order_{&terms_};
  std::array<Tenant, kTenants> tenants_;
  std::array<std::vector<RequestState*>, kReplicas> running_;
  std::map<const RequestState*, double> true_service_;
  std::array<std::array<Pair, kTenants>, kTenants> pairs_;
  double worst_ = 0;
  double worst_behind_ = 0;
  double most_running_ = 0;
  int served_ = 0;
};

class FairShare : public ::testing::TestWithParam<uint64_t> {};

TEST_P(FairShare, InStrictOrderTheBoundIsTwoRequests) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  SharedServer server(GetParam(), 0, false);
  server.Run(2000);
  EXPECT_GT(server.served(), 2000);
  EXPECT_LE(server.worst(), 2 * server.LargestCharge());
}

TEST_P(FairShare, WithoutFairnessTheBoundIsBroken) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  SharedServer server(GetParam(), 0, false, FairnessMode::kNone);
  server.Run(2000);
  EXPECT_GT(server.worst(), 4 * server.LargestCharge());
}

TEST_P(FairShare, NoTenantThatWaitsFallsBehindAnotherByMoreThanTheBound) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  SharedServer server(GetParam(), 0, true);
  server.Run(2000);
  EXPECT_GT(server.served(), 2000);
  EXPECT_LE(server.worst(), 2 * (ServiceLedger::kMostLead * server.most_running() + 2 * server.LargestCharge()));
  EXPECT_TRUE(server.order().SumHolds());
}

TEST_P(FairShare, TheCorrectionAtTheEndWidensTheBoundByWhatRan) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  SharedServer server(GetParam(), 0.5, true);
  server.Run(2000);
  EXPECT_LE(server.worst(), 2 * (server.most_running() + 2 * server.LargestCharge()));
  EXPECT_TRUE(server.order().SumHolds());
}

TEST_P(FairShare, LeadsKeepsItsPromiseOverEveryWindow) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  SharedServer server(GetParam(), 0, true, FairnessMode::kLeads);
  server.Run(10000);
  EXPECT_GT(server.order().ledger().promised(), 4 * FairTerms::kMostOwed) << "much is promised";
  EXPECT_LE(server.worst_behind(),
            FairTerms::kMostOwed + ServiceLedger::kMostLead * server.most_running() + 2 * server.LargestCharge());
}

INSTANTIATE_TEST_SUITE_P(Seeds, FairShare, ::testing::Range<uint64_t>(1, 6));

}  // namespace
}  // namespace penstock
