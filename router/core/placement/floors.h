// Facts about each replica that hold for any request: a large fleet is searched in their order.
//
// A floor is the part of the peak share that every request finds. With the least that a request adds (newcomer.h) it is
// at most the share of PeakShareWith, which counts all horizons. A floor refuses a request only where the request is
// still there at the horizon of the floor. That holds at every instant until the replica or its pools change. Proof:
// MemoryRule::Floor says so of the bound of a pool, and PeakShareWith divides that bound as the floor is divided.
// Invariant: the floors are those of the last change of each pool. Only the replicas of large fleets have floors.
// Owned by Rooms. An update is O(horizons + members of the pools x log replicas).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_FLOORS_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_FLOORS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "router/core/books/servers.h"
#include "router/core/contract/wait_reason.h"
#include "router/core/placement/floor_order.h"
#include "router/core/placement/memory_test.h"

namespace penstock {

// Tokens that the smallest of its pools can hold, 0 without one.
double TokensOfSmallestPool(const ReplicaState& replica, const FleetState& fleet);

class Floors {
 public:
  // The floor of its fullest pool.
  struct Floor {
    double share = 0;
    // The share up to which a request fits into that pool; infinite where one may enter alone.
    double limit = std::numeric_limits<double>::infinity();
    // The horizon of the floor; negative: not known.
    int horizon = -1;
    // The share of a unit of memory that a request adds there; 0 where its amount is not known.
    double per_unit = 0;
  };
  struct Entry {
    Floor peak;
    Floor present;       // For parked streams that are due back: they ask for present memory only.
    uint32_t kind = 0;   // The position of its footprint in kinds().
    double context = 0;  // Tokens; infinite: unknown.
    double pace = 0;     // At least the tokens per second of a stream.
    PrefillPrice price;  // At least that of its prefill.
    // GPU seconds of prefill on its way, at that price, where the guard "runway" asks the request to save as much; else
    // 0.
    double runway = 0;
    // Set: it takes no request at all before its next change.
    std::optional<WaitReason> closed;
    // Before then its streams let no request in, as a try has shown since that change.
    Instant streams_until;
  };

  Floors(const FleetState& fleet, const Servers& servers, const MemoryRule& rule)
      : fleet_(fleet), servers_(servers), rule_(rule) {}

  // The fleet has a new description.
  void Configure(Instant now);
  // Something of these replicas or of their pools changed. Members of these pools follow.
  void Update(std::span<const size_t> replicas, Instant now);

  // The streams of the replica let no request in before then.
  void CloseUntil(size_t replica, Instant until) { entries_[replica].streams_until = until; }

  const Entry& Of(size_t replica) const { return entries_[replica]; }
  // The servers of a model of a large fleet, by their floors.
  const FloorOrder& OrderOf(ModelId model) const { return orders_[order_of_[model.value()]]; }
  // The footprints of all replicas, each once.
  const std::vector<Footprint>& kinds() const { return kinds_; }
  // GPU seconds of the prompts like this one that fill a pool; at most kRefresh old. The most expensive token and the
  // most expensive pair of tokens among the model's servers count.
  double PoolSeconds(const RequestState& request, Instant now);
  // At least the tokens per second of a stream on any server of the model.
  double MostPace(ModelId model, Instant now) { return PriceOf(model, now).pace; }
  // At least the price of prefill on any server of the model.
  const PrefillPrice& MostPrefillPrice(ModelId model, Instant now) { return PriceOf(model, now).most; }

 private:
  static constexpr Duration kRefresh = Duration::Milliseconds(50);

  struct PoolFloor {
    double share = 0;
    double present = 0;  // The share of present memory.
    double limit = 0;
    int horizon = -1;
    double per_unit = 1;
    uint64_t round = 0;  // The last update that looked at it.
  };
  struct ModelPrice {
    PrefillPrice pool;  // Of a token and a pair, times the tokens of the smallest pool.
    PrefillPrice most;  // At least that of each server.
    double pace = 0;

    void Raise(const Entry& entry);
    Instant refresh_at;
  };

  void WatchLargeFleets();
  void MakeOrders();
  uint32_t KindOf(const Footprint& footprint);
  void UpdatePool(PoolId id, Instant now);
  void UpdateEntry(size_t replica);
  // Moves the replica to its place in its orders.
  void Order(size_t replica);
  void UpdateFloors(const ReplicaState& replica, Entry& entry) const;
  const ModelPrice& PriceOf(ModelId model, Instant now);

  const FleetState& fleet_;
  const Servers& servers_;
  const MemoryRule& rule_;
  // One entry per replica: it serves a model of a large fleet, or takes memory from a pool of such a replica.
  std::vector<bool> watched_;
  std::vector<Entry> entries_;              // One entry per replica.
  std::vector<uint32_t> kind_of_;           // One entry per replica: that of its first pool.
  std::vector<double> tokens_of_smallest_;  // One entry per replica.
  std::vector<Footprint> kinds_;
  std::vector<PoolFloor> pools_;    // One entry per pool.
  std::vector<ModelPrice> prices_;  // One entry per model.
  // One for each distinct list of servers of a large fleet: adapters of a model mostly share one.
  std::vector<FloorOrder> orders_;
  std::vector<uint32_t> order_of_;                // One entry per model; only those of large fleets count.
  std::vector<std::vector<uint32_t>> orders_of_;  // One list per replica.
  uint64_t round_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_FLOORS_H_
