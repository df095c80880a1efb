// The replicas that a waiting request is tried on now.
//
// A small fleet is searched whole. A large fleet is not searched at once. The emptiest replicas and some that hold the
// prompt's prefix come first. The others follow as later events pay for them, with those that opened meanwhile.
// Invariant: a request is tried on each server of its model once since it began to wait or a server opened.
// Owned by Rooms. O(servers) at the first try of a request, O(opened) after that.
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_

#include <utility>
#include <vector>

#include "router/core/books/servers.h"
#include "router/core/queue/work_list.h"

namespace penstock {

class Search {
 public:
  Search(const FleetState& fleet, const Servers& servers, WorkList& work)
      : fleet_(fleet), servers_(servers), work_(work) {}

  // Positions, valid until the next call. `needed` is the length that a replica must be able to hold. Pays for the
  // tries; empty where the event can pay for none.
  const std::vector<size_t>& ReplicasToTry(RequestState* request, Tokens needed);
  // True: no server is left to be tried.
  bool TriedEverywhere(const RequestState& request) const;

 private:
  // The emptiest servers, and some that hold the request's prefix.
  void AddEmptiest(const RequestState& request, Tokens needed);

  const FleetState& fleet_;
  const Servers& servers_;
  WorkList& work_;
  std::vector<size_t> found_;  // The last answer.
  std::vector<std::pair<double, size_t>> by_fullness_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_SEARCH_H_
