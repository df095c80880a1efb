#include "tests/core/drawn_fleet.h"

#include <algorithm>
#include <string>
#include <vector>

namespace penstock::testing {
namespace {

constexpr size_t kFewReplicas = 8;
constexpr int64_t kBytesPerToken = 3000;  // Of a shaped footprint, at most.
constexpr int64_t kRoom = 20'000;         // Tokens.

// Full and windowed layers and a recurrent state.
Footprint Shaped() { return Footprint{2000, 1000, Tokens(1024), 50'000, Tokens(16), Tokens(512)}; }

Footprint FootprintFor(const PoolSpec& pool, Tokens block) {
  return pool.in_bytes ? Shaped() : Footprint::InTokens(block);
}

PoolSpec DrawPool(Choices& choices, const std::string& name, int64_t tokens) {
  PoolSpec pool;
  pool.name = name;
  pool.in_bytes = choices.OneIn(2);
  pool.capacity = Amount(pool.in_bytes ? tokens * kBytesPerToken : tokens);
  return pool;
}

void AddReplica(Choices& choices, const std::vector<uint32_t>& pools, uint32_t gpu, Fleet& fleet) {
  ReplicaSpec replica;
  const size_t position = fleet.replicas.size();
  replica.name = "replica" + std::to_string(position);
  replica.models = {ModelId(0), ModelId(1)};
  const Tokens block(choices.OneIn(2) ? 1 : 16);
  for (uint32_t pool : pools) replica.pools.push_back({PoolId(pool), FootprintFor(fleet.pools[pool], block)});
  replica.gpus = {gpu};
  replica.time_sliced = !choices.OneIn(4);
  replica.prior = StepCoefficients{10, 0.1, 0.01, 0.05, 1.5};
  replica.prior_known = !choices.OneIn(4);
  replica.max_context = Tokens(pools.empty() ? 0 : 8000);
  replica.max_sequences = 1 + static_cast<int>(choices.Below(32));
  if (choices.OneIn(2)) replica.prefix_cache = Tokens(static_cast<int64_t>(choices.Below(8000)));
  if (position % 2 == 0) replica.host_cache = {replica.prefix_cache * 2, 1e-4};
  fleet.replicas.push_back(replica);
}

void DrawFew(Choices& choices, Fleet& fleet) {
  const int64_t tokens = 500 + static_cast<int64_t>(choices.Below(kRoom));
  fleet.pools = {DrawPool(choices, "own", tokens), DrawPool(choices, "shared", 2 * tokens),
                 DrawPool(choices, "fatal", tokens)};
  fleet.pools[2].overflow_fatal = true;
  const std::vector<std::vector<uint32_t>> pools = {{0}, {1}, {1}, {2}, {}};
  for (uint32_t i = 0; i < pools.size(); ++i) AddReplica(choices, pools[i], i / 2, fleet);
  fleet.replicas[1].abort_hold = Duration::Seconds(4);
  fleet.replicas[3].models = {ModelId(1)};
  // One that runs on two GPUs and takes memory of both.
  if (choices.OneIn(2)) AddReplica(choices, {0, 1}, 0, fleet);
  if (fleet.replicas.size() > pools.size()) fleet.replicas.back().gpus = {0, 1};
}

void DrawMany(Choices& choices, Fleet& fleet) {
  const uint64_t count = 20 + choices.Below(30);
  const int64_t tokens = 500 + static_cast<int64_t>(choices.Below(4000));
  for (uint32_t i = 0; i < count; ++i) {
    if (i % 2 == 0) fleet.pools.push_back(DrawPool(choices, "pool" + std::to_string(i / 2), tokens));
    AddReplica(choices, {i / 2}, i / 2, fleet);
    fleet.replicas.back().max_sequences = 1 + static_cast<int>(choices.Below(4));
  }
}

// Limits of two tenants. They follow from numbers that were drawn before, so recorded corpora keep their meaning.
void LimitTenants(int64_t number, Fleet& fleet) {
  fleet.tenants.clear();
  if (number % 3 == 0) fleet.tenants.push_back({TenantId(1), "few", 1, {Tokens(0), 1 + number % 7}});
  if (number % 2 == 0) fleet.tenants.push_back({TenantId(2), "metered", 1, {Tokens(2'000 + 500 * (number % 16)), 0}});
}

}  // namespace

PenstockVariant DrawVariant(Choices& choices) {
  PenstockVariant variant;
  if (choices.OneIn(2)) return variant;
  const auto off = [&choices] { return choices.OneIn(3); };
  variant.memory = static_cast<MemoryKind>(choices.Below(3));
  variant.fill = off() ? 0.5 : 0.99;
  variant.variance = !off();
  variant.tenant_curves = !off();
  variant.learned_steps = !off();
  variant.time_guards = !off();
  variant.gpu_wide = !off();
  variant.refuse_late = !off();
  variant.prefix_hashes = !off();
  // No draw of its own, so that recorded corpora keep their meaning.
  variant.shared_prompts = variant.fill > 0.9;
  variant.order = static_cast<OrderKind>(choices.Below(4));
  variant.true_growth = !off();
  if (off()) {
    variant.output_of = [](RequestId id) { return Tokens(1 + static_cast<int64_t>(id.value() * 37 % 2000)); };
  }
  return variant;
}

Fleet DrawFleet(Choices& choices) {
  Fleet fleet;
  fleet.models = {{"chat"}, {"code"}};
  const bool late = choices.OneIn(2);
  fleet.classes = {
      {"interactive", Duration::Seconds(1), Duration::Milliseconds(50), Duration::Seconds(5), late, false},
      {"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(30), late, false},
      {"background", Duration::Seconds(3600), Duration::Seconds(1), Duration::Seconds(86'400), late, true}};
  choices.OneIn(6) ? DrawMany(choices, fleet) : DrawFew(choices, fleet);
  LimitTenants(fleet.replicas.front().max_sequences, fleet);
  // No draw of its own, so that recorded corpora keep their meaning.
  fleet.fairness.mode = static_cast<FairnessMode>(fleet.replicas.front().max_sequences % 3);
  fleet.fairness.unit = static_cast<ServiceUnit>(fleet.replicas.front().max_sequences % 2);
  return fleet;
}

void ChangeFleet(Choices& choices, Fleet& fleet) {
  ReplicaSpec& replica = fleet.replicas[choices.Below(fleet.replicas.size())];
  const PoolId pool_id(static_cast<uint32_t>(choices.Below(fleet.pools.size())));
  PoolSpec& pool = fleet.pools[pool_id.value()];
  switch (choices.Below(9)) {
    case 0:
      replica.removed = !replica.removed;
      break;
    case 1:
      pool.capacity = Amount((1 + static_cast<int64_t>(choices.Below(30'000))) * (pool.in_bytes ? kBytesPerToken : 1));
      break;
    case 2:
      pool.overflow_fatal = !pool.overflow_fatal;
      break;
    case 3:
      replica.max_sequences = 1 + static_cast<int>(choices.Below(8));
      replica.max_context = Tokens(100 + static_cast<int64_t>(choices.Below(10'000)));
      break;
    case 4:
      fleet.classes[choices.Below(fleet.classes.size())].queue =
          Duration::Milliseconds(1 + static_cast<int64_t>(choices.Below(20'000)));
      break;
    case 5:
      fleet.limits.max_queued_requests = static_cast<int64_t>(choices.Below(60));
      LimitTenants(fleet.limits.max_queued_requests, fleet);
      if (choices.OneIn(2)) fleet.limits.max_queued_bytes = Bytes(static_cast<int64_t>(choices.Below(1'000'000)));
      break;
    case 6:  // Its engine reported another block size, or its memory for the first time.
      replica.pools = {{pool_id, FootprintFor(pool, Tokens(1 + static_cast<int64_t>(choices.Below(32))))}};
      replica.prefix_cache = Tokens(static_cast<int64_t>(choices.Below(4000)));
      break;
    case 7: {
      if (fleet.replicas.size() >= kFewReplicas) break;
      ReplicaSpec added = replica;
      added.name += "+";
      added.removed = false;
      fleet.replicas.push_back(std::move(added));
      break;
    }
    default:
      if (fleet.models.size() < 4) fleet.models.push_back({"model" + std::to_string(fleet.models.size())});
      if (fleet.classes.size() < 5) fleet.classes.push_back(fleet.classes[1]);
      fleet.fairness.mode = static_cast<FairnessMode>((static_cast<int>(fleet.fairness.mode) + 1) % 3);
      for (TenantSpec& tenant : fleet.tenants) tenant.weight *= 2;
      break;
  }
}

void MakeRoom(Fleet& fleet) {
  for (PoolSpec& pool : fleet.pools) {
    pool.capacity = std::max(pool.capacity, Amount(pool.in_bytes ? kRoom * kBytesPerToken : kRoom));
  }
}

}  // namespace penstock::testing
