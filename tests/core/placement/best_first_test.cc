// Best first equals a scan of all replicas: random fleets, states and prompts; the scan is here only.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

constexpr uint64_t kFamilies = 3;
constexpr uint64_t kSessions = 12;

// An event, not the search, ends it.
CoreRules WithoutLimits() {
  CoreRules rules;
  rules.search = {1e9, 1e9, 1'000'000};
  return rules;
}

class RandomFleet {
 public:
  RandomFleet(uint64_t seed, uint64_t replicas) : random_(seed), test_(Draw(replicas), WithoutLimits()) {
    const uint64_t requests = Below(6 * replicas + 2);
    for (uint64_t i = 0; i < requests; ++i) Change();
    for (uint64_t i = 0; i < replicas / 8; ++i) Lend(static_cast<uint32_t>(Below(replicas)));
    for (uint64_t i = 0; i < replicas / 10; ++i) {
      const ReplicaId id(static_cast<uint32_t>(Below(replicas)));
      test_.rooms.servers.SetHealth(id, Below(2) == 0 ? Health::kDown : Health::kProbing, test_.now);
      Changed(id.value());
    }
    // Floors hold for any time after the last change.
    if (Below(2) == 0) test_.Wait(Duration::Milliseconds(static_cast<int64_t>(Below(4000))));
  }

  uint64_t Below(uint64_t n) { return random_() % n; }
  TestRooms& test() { return test_; }

  RequestState* Newcomer() {
    RequestArrived arrived = DrawRequest();
    arrived.model = ModelId(static_cast<uint32_t>(Below(2)));
    RequestState* request = test_.New(arrived);
    // Some were parked and are due back.
    if (Below(6) == 0) request->loans.push_back({PoolId(0), Amount(1), Amount(0)});
    if (Below(8) == 0) request->waiting.avoid = {ReplicaId(static_cast<uint32_t>(Below(replicas())))};
    return request;
  }

  // Choose must find the same: every server is tested, and the best of all choices wins.
  std::optional<size_t> Scan(const RequestState& request) {
    Rooms& rooms = test_.rooms;
    const std::vector<size_t>& servers = rooms.servers.Of(request.arrived.model);
    const Tokens needed = rooms.servers.LengthNeeded(request);
    const auto could = [&](size_t index) {
      return rooms.fleet.replicas()[index].Placeable() && needed <= rooms.servers.Longest(index);
    };
    const bool can_avoid = std::any_of(servers.begin(), servers.end(),
                                       [&](size_t index) { return could(index) && !request.waiting.Avoids(index); });
    std::vector<Choice> choices;
    for (const size_t index : servers) {
      if (!could(index) || (can_avoid && request.waiting.Avoids(index))) continue;
      if (const std::optional<Choice> choice = TestOn(request, index)) choices.push_back(*choice);
    }
    if (choices.empty()) return std::nullopt;
    const bool small = servers.size() <= kSmallFleet;
    const double price = small ? PriceAmong(choices) : kMemoryPrice * rooms.floors.PoolSeconds(request, test_.now);
    return BestOf(AllScores(), choices, price).replica;
  }

 private:
  size_t replicas() const { return test_.rooms.fleet.replicas().size(); }

  Fleet Draw(uint64_t replicas) {
    Fleet fleet = MakeFleet({.replicas = static_cast<int>(replicas)});
    fleet.models.push_back({"code"});
    for (size_t i = 0; i < replicas; ++i) {
      ReplicaSpec& replica = fleet.replicas[i];
      fleet.pools[i].capacity = Amount(4'000 + static_cast<int64_t>(Below(4)) * 4'000);
      fleet.pools[i].overflow_fatal = Below(12) == 0;
      // Some take memory from the pool of an earlier one too, or of nobody's.
      if (i > 0 && Below(4) == 0) replica.pools[0].pool = PoolId(static_cast<uint32_t>(Below(i)));
      if (i > 0 && Below(10) == 0) replica.pools.push_back({PoolId(static_cast<uint32_t>(i - 1)), Footprint()});
      if (replica.pools.size() > 1 && replica.pools[0].pool == replica.pools[1].pool) replica.pools.pop_back();
      if (Below(30) == 0) replica.pools.clear();
      if (Below(3) == 0) replica.models.push_back(ModelId(1));
      if (Below(6) == 0) replica.gpus = {static_cast<uint32_t>(i / 2)};
      replica.prior = StepCoefficients{10, 0, 0, Below(3) == 0 ? 0.15 : 0.05};
      replica.max_sequences = Below(5) == 0 ? 2 : 64;
      replica.max_context = Tokens(Below(4) == 0 ? 3'000 : 30'000);
      if (Below(3) != 0) replica.prefix_cache = Tokens(8'000);
    }
    return fleet;
  }

  RequestArrived DrawRequest() {
    RequestArrived arrived;
    arrived.request = RequestId(++ids_);
    arrived.service_class = ClassId(static_cast<uint32_t>(Below(3)));
    arrived.prompt = Tokens(1 + static_cast<int64_t>(Below(Below(3) == 0 ? 6'000 : 800)));
    arrived.prompt_sigma = 0.03;
    arrived.sequences = Below(10) == 0 ? 2 : 1;
    arrived.embedding = Below(20) == 0;
    if (Below(3) != 0) arrived.max_output = Tokens(1 + static_cast<int64_t>(Below(600)));
    if (Below(2) == 0) {
      // Sessions of a family have its first blocks in common.
      const uint64_t family = Below(kFamilies);
      const uint64_t session = Below(kSessions);
      const auto blocks = static_cast<uint64_t>(arrived.prompt.value() / kPrefixBlock.value());
      for (uint64_t i = 0; i < blocks; ++i) {
        arrived.prefix.push_back(1'000'000 * family + i + (i < 4 ? 0 : 1000 * (session + 1)));
      }
    }
    return arrived;
  }

  void Changed(size_t replica) { test_.rooms.floors.Update(std::span(&replica, 1), test_.now); }

  // One request begins, or ends, or a replica takes steps; then the floors follow as in the core.
  void Change() {
    const auto replica = static_cast<uint32_t>(Below(replicas()));
    ReplicaState& state = test_.Replica(replica);
    if (Below(4) == 0) test_.Wait(Duration::Milliseconds(static_cast<int64_t>(Below(60))));
    const uint64_t what = Below(10);
    if (what < 6 && state.sequences() + 2 <= state.spec().max_sequences) {
      RequestState* request = test_.Start(test_.New(DrawRequest()), replica);
      if (Below(3) != 0) test_.rooms.running.TakeFirstToken(request, test_.now);
    } else if (what < 8 && state.busy()) {
      End(state.requests()[Below(state.requests().size())]);
    } else if (state.busy()) {
      const auto steps = static_cast<int64_t>(1 + Below(8));
      test_.Wait(Duration::Milliseconds(static_cast<int64_t>(Below(30)) * steps));
      test_.rooms.running.Advance(Progress{{{ReplicaId(replica), steps, test_.now}}, {}}, test_.now);
      test_.rooms.running.CatchUp(state, 1 + Below(12), test_.now);
    }
    Changed(replica);
  }

  // Streams of the pool could lend memory, or have lent some.
  void Lend(uint32_t replica) {
    const PoolId pool(replica);
    PoolLending& lending = test_.rooms.fleet.pool(pool).lending();
    const Amount amount(static_cast<int64_t>(Below(3000)));
    if (Below(3) != 0) lending.Join({amount, Amount(amount.value() / 5)});
    if (Below(2) == 0) lending.Lend({pool, amount, Amount(amount.value() / 5)});
    Changed(replica);
  }

  void End(RequestState* request) {
    const LeaseId lease = request->running.lease;
    test_.rooms.running.Finish(request, Tokens(Below(2) == 0 ? -1 : static_cast<int64_t>(Below(2000))));
    test_.rooms.running.Leave(request, test_.now);
    if (Below(5) == 0) {
      test_.rooms.fleet.ledger().Drain(lease, test_.now + Duration::Seconds(100));
    } else {
      test_.rooms.fleet.ledger().Release(lease);
    }
    test_.rooms.requests.Erase(request->arrived.request);
  }

  std::optional<Choice> TestOn(const RequestState& request, size_t index) {
    Rooms& rooms = test_.rooms;
    const ReplicaState& replica = rooms.fleet.replicas()[index];
    const GuardQuestion question = QuestionFor(request, replica, rooms.fleet, test_.now);
    if (FirstBroken(AllGuards(), question)) return std::nullopt;
    std::vector<GrowthVector> growth;
    const std::optional<double> peak = rooms.memory.PeakShareWith(request, replica, test_.now, growth);
    if (!peak) return std::nullopt;
    const PrefillPrice& price = question.outlook.price;
    const PrefillWork whole = request.PrefillAfter(Tokens(0));
    const double tokens = TokensOfSmallestPool(replica, rooms.fleet);
    return Choice{index,
                  *peak,
                  question.outlook.ExpectedTtft(),
                  price.Of(PrefillOf(Tokens(0), question.cached)),
                  price.Of(whole) * tokens / whole.tokens.AsDouble(),
                  0,
                  OwnStepsAt(index, request, rooms.fleet, rooms.servers)};
  }

  std::mt19937_64 random_;
  uint64_t ids_ = 0;
  TestRooms test_;
};

// The choice, after as many events as its search takes.
std::optional<Choice> ChooseInEvents(TestRooms& test, RequestState* request, bool& cut_short) {
  for (int event = 0; event < 100; ++event) {
    test.rooms.work.StartEvent();
    const std::optional<Choice> choice = test.rooms.placement.Placement::Choose(request, test.now);
    cut_short = choice.has_value() && test.rooms.work.budget() == 0;
    if (choice || test.rooms.placement.TriedEverywhere(*request)) return choice;
  }
  ADD_FAILURE() << "the search does not end";
  return std::nullopt;
}

TEST(BestFirst, ChoosesWhatAScanOfAllReplicasChooses) {
  int placed = 0;
  int refused = 0;
  int cut = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    const uint64_t replicas = seed % 3 == 0 ? 1 + seed % 30 : 25 + (seed * 37) % 276;
    RandomFleet fleet(seed, replicas);
    for (int i = 0; i < 12; ++i) {
      RequestState* request = fleet.Newcomer();
      const std::optional<size_t> expected = fleet.Scan(*request);
      bool cut_short = false;
      const std::optional<Choice> choice = ChooseInEvents(fleet.test(), request, cut_short);
      (expected ? placed : refused) += 1;
      cut += cut_short ? 1 : 0;
      ASSERT_EQ(choice.has_value(), expected.has_value()) << "seed " << seed << ", " << replicas << " replicas";
      if (!choice || cut_short) continue;
      ASSERT_EQ(choice->replica, *expected) << "seed " << seed << ", " << replicas << " replicas, request " << i;
    }
  }
  EXPECT_GT(placed, 1000);
  EXPECT_GT(refused, 80);
  EXPECT_LT(cut, placed / 30) << "searches whose event could pay for no more tries";
}

}  // namespace
}  // namespace penstock::testing
