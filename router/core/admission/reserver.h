// Gives reservations to waiting requests that would starve: those that only memory blocks while smaller ones pass.
//
// A request gets one where it needs a large part of a pool, or where memory has blocked it for long. The room must be
// expected about in time. It is reserved from early in that time on, because streams end by chance. Once the request
// has used its patience, room by the mean is enough. While too many requests are refused for
// lateness, its deadline ends the wait: memory for few large requests then costs more tokens than it yields. Invariant:
// at most `Reservations::most` requests of a lane have a reservation. Owned by Pump. O(pools x horizons^2) once in
// kPause per request, and once in kBetweenSearches at all.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_RESERVER_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_RESERVER_H_

#include <optional>
#include <utility>
#include <vector>

#include "router/core/admission/rooms.h"

namespace penstock {

class Reserver {
 public:
  explicit Reserver(Rooms& rooms) : rooms_(rooms) {}

  // The request was tried on every server that it could go to, and waits on.
  void OnBlocked(RequestState* request, Instant now);

 private:
  struct Room {
    ReplicaId replica;
    Instant at;
  };

  // True: the request may have a reservation at all.
  bool Deserves(const RequestState& request, Instant now) const;
  // When the request has waited for this part of its time, or of the time after which any request starves.
  Instant AfterPart(double part, const RequestState& request, Instant now) const;
  // The earliest room among the emptiest free servers, if it may come in time, and when to reserve it.
  std::optional<Room> FindRoom(const RequestState& request, Instant now);
  // When the replica is expected to have room.
  Instant RoomOf(const RequestState& request, const ReplicaState& replica, Instant now) const;

  Rooms& rooms_;
  Instant next_search_;
  // The memory of one call, reused by the next.
  std::vector<RequestState*> reserved_;
  std::vector<std::pair<double, size_t>> by_fullness_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_RESERVER_H_
