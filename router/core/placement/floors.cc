#include "router/core/placement/floors.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "router/core/placement/guards.h"

namespace penstock {
namespace {

// The learned factor depends on the number of busy neighbours, which changes without a change of the replica.
PrefillPrice MostPrice(const ReplicaState& replica, int neighbours) {
  const StepModel& model = replica.steps_model();
  int slowest = 0;
  for (int busy = 1; busy <= neighbours; ++busy) slowest = model.Factor(busy) > model.Factor(slowest) ? busy : slowest;
  return model.PriceOfPrefill(slowest);
}

void Raise(Floors::Floor& floor, const Floors::Floor& by) {
  if (by.share >= floor.share) floor = by;
}

}  // namespace

double TokensOfSmallestPool(const ReplicaState& replica, const FleetState& fleet) {
  double least = 0;
  for (const PoolShare& share : replica.spec().pools) {
    const double per_token = std::max(share.footprint.full_per_token, share.footprint.windowed_per_token);
    if (per_token <= 0) continue;
    const double tokens = fleet.pool(share.pool).spec().capacity.AsDouble() / per_token;
    least = least > 0 ? std::min(least, tokens) : tokens;
  }
  return least;
}

void Floors::WatchLargeFleets() {
  watched_.assign(fleet_.replicas().size(), false);
  for (size_t model = 0; model < fleet_.spec().models.size(); ++model) {
    const std::vector<size_t>& servers = servers_.Of(ModelId(static_cast<uint32_t>(model)));
    if (servers.size() <= kSmallFleet) continue;
    for (const size_t index : servers) {
      watched_[index] = true;
      for (const PoolShare& share : fleet_.replicas()[index].spec().pools) {
        for (const ReplicaId member : fleet_.pool(share.pool).replicas()) watched_[member.value()] = true;
      }
    }
  }
}

void Floors::MakeOrders() {
  const size_t models = fleet_.spec().models.size();
  orders_.clear();
  order_of_.assign(models, 0);
  orders_of_.assign(watched_.size(), {});
  absl::flat_hash_map<std::vector<size_t>, uint32_t> known;
  for (size_t model = 0; model < models; ++model) {
    const std::vector<size_t>& servers = servers_.Of(ModelId(static_cast<uint32_t>(model)));
    if (servers.size() <= kSmallFleet) continue;
    const auto [order, added] = known.emplace(servers, static_cast<uint32_t>(orders_.size()));
    order_of_[model] = order->second;
    if (!added) continue;
    orders_.emplace_back();
    for (const size_t index : servers) orders_of_[index].push_back(order->second);
  }
}

uint32_t Floors::KindOf(const Footprint& footprint) {
  const auto found = std::find(kinds_.begin(), kinds_.end(), footprint);
  if (found != kinds_.end()) return static_cast<uint32_t>(found - kinds_.begin());
  kinds_.push_back(footprint);
  return static_cast<uint32_t>(kinds_.size() - 1);
}

void Floors::Configure(Instant now) {
  WatchLargeFleets();
  MakeOrders();
  entries_.assign(watched_.size(), {});
  kind_of_.assign(watched_.size(), 0);
  tokens_of_smallest_.assign(watched_.size(), 0);
  kinds_.clear();
  pools_.assign(fleet_.pools().size(), {});
  prices_.assign(fleet_.spec().models.size(), {});
  for (size_t i = 0; i < watched_.size(); ++i) {
    const ReplicaState& replica = fleet_.replicas()[i];
    tokens_of_smallest_[i] = TokensOfSmallestPool(replica, fleet_);
    if (watched_[i] && !replica.spec().pools.empty()) kind_of_[i] = KindOf(replica.spec().pools[0].footprint);
  }
  for (size_t i = 0; i < watched_.size(); ++i) Update(std::span(&i, 1), now);
}

void Floors::ModelPrice::Raise(const Entry& entry) {
  most.per_token = std::max(most.per_token, entry.price.per_token);
  most.per_pair = std::max(most.per_pair, entry.price.per_pair);
  pace = std::max(pace, entry.pace);
}

const Floors::ModelPrice& Floors::PriceOf(ModelId model, Instant now) {
  ModelPrice& price = prices_[model.value()];
  if (now < price.refresh_at) return price;
  price = {{}, {}, 0, now + kRefresh};
  for (const size_t index : servers_.Of(model)) {
    const Entry& entry = entries_[index];
    price.pool.per_token = std::max(price.pool.per_token, entry.price.per_token * tokens_of_smallest_[index]);
    price.pool.per_pair = std::max(price.pool.per_pair, entry.price.per_pair * tokens_of_smallest_[index]);
    price.Raise(entry);
  }
  return price;
}

double Floors::PoolSeconds(const RequestState& request, Instant now) {
  const PrefillWork whole = request.PrefillAfter(Tokens(0));
  return PriceOf(request.arrived.model, now).pool.Of(whole) / whole.tokens.AsDouble();
}

void Floors::UpdatePool(PoolId id, Instant now) {
  const PoolState& pool = fleet_.pool(id);
  const double capacity = std::max(1.0, pool.spec().capacity.AsDouble());
  const double available = fleet_.ledger().Available(id).AsDouble();
  const std::optional<PoolPeak> floor = rule_.Floor(pool, now);
  PoolFloor& known = pools_[id.value()];
  known.per_unit = 1 / capacity;
  known.share = (floor.value_or(PoolPeak()).bound + capacity - available) / capacity;
  known.present = (pool.growth().PresentFloor(now) + capacity - available) / capacity;
  known.horizon = floor ? floor->horizon : -1;
  // A request alone may enter whatever its forecast.
  known.limit = pool.growth().members() > 0 ? (rule_.Fill() * available + capacity - available) / capacity
                                            : std::numeric_limits<double>::infinity();
  known.round = round_;
}

void Floors::UpdateFloors(const ReplicaState& replica, Entry& entry) const {
  const ReplicaSpec& spec = replica.spec();
  entry.peak = entry.present = {};
  if (spec.pools.empty()) {
    entry.peak.share = static_cast<double>(replica.sequences() + 1) / std::max(1, spec.max_sequences);
    entry.present = entry.peak;
  }
  for (size_t i = 0; i < spec.pools.size(); ++i) {
    const PoolFloor& known = pools_[spec.pools[i].pool.value()];
    // Only the footprint of the first pool is known by its kind.
    const double per_unit = i == 0 ? known.per_unit : 0;
    Raise(entry.peak, {known.share, known.limit, known.horizon, per_unit});
    Raise(entry.present, {known.present, known.limit, 0, per_unit});
  }
}

void Floors::UpdateEntry(size_t index) {
  const ReplicaState& replica = fleet_.replicas()[index];
  const int neighbours = static_cast<int>(fleet_.NeighboursOf(replica).size());
  Entry& entry = entries_[index];
  UpdateFloors(replica, entry);
  entry.kind = kind_of_[index];
  const Tokens context = replica.spec().max_context;
  entry.context = context > Tokens(0) ? context.AsDouble() : std::numeric_limits<double>::infinity();
  entry.pace = replica.MostTokensPerSecond(neighbours);
  entry.price = MostPrice(replica, neighbours);
  entry.runway = RunwayIsLong(replica) ? entry.price.Of(replica.prefills().work()) : 0;
  for (const ModelId model : replica.spec().models) prices_[model.value()].Raise(entry);
  entry.closed.reset();
  entry.streams_until = Instant();
  if (replica.busy() && replica.sequences() >= replica.spec().max_sequences) entry.closed = WaitReason::kSequences;
  if (replica.facts.grey.stalled) entry.closed = WaitReason::kNoReplicaUp;
  if (!replica.Placeable()) {
    entry.closed = servers_.brief(index).IsAway() ? WaitReason::kWaking : WaitReason::kNoReplicaUp;
  }
  Order(index);
}

void Floors::Order(size_t index) {
  const Entry& entry = entries_[index];
  const Floor& floor = entry.peak;
  const FloorOrder::Kind kind = {floor.horizon, floor.per_unit,          entry.kind,
                                 entry.context, std::isinf(floor.limit), entry.runway > 0};
  for (const uint32_t order : orders_of_[index]) {
    if (entry.closed) {
      orders_[order].Close(index, *entry.closed);
    } else {
      orders_[order].Put(index, kind, floor.share, floor.limit, entry.runway, entry.price);
    }
  }
}

void Floors::Update(std::span<const size_t> replicas, Instant now) {
  ++round_;
  for (const size_t index : replicas) {
    if (!watched_[index]) continue;
    for (const PoolShare& share : fleet_.replicas()[index].spec().pools) {
      if (pools_[share.pool.value()].round == round_) continue;
      UpdatePool(share.pool, now);
      for (const ReplicaId member : fleet_.pool(share.pool).replicas()) UpdateEntry(member.value());
    }
    UpdateEntry(index);
  }
}

}  // namespace penstock
