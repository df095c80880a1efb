// Refuses a request soon after its arrival where it could only wait until it is late.
//
// Nobody knows how long the streams that run now will go on, so no forecast tells when a waiting request starts. Two
// rules need none. By the first, the requests ahead of it in its class would take kTooMany times as long as it can
// wait. Their rate was measured while somebody waited. A large prompt that waits for memory holds up all others for a
// moment. So the rule also asks that more than kBeyondKnee of the requests were refused as late. By the second, three
// things are true:
//   * Overload: of late, more than kLeastLate of the requests that can be on time were refused as late.
//   * An example: a request of its class was refused as late within the last kExampleLife TTFT goals. It stood no
//     further back in the order, and its prompt was no larger. With fairness it was of the same tenant. Each example is
//     good for kPerExample early refusals. So they end with the overload, and no kind of request is refused that was
//     not seen to be late.
//   * A reserve: enough requests of its size or larger wait to use all room that the next kReserve TTFT goals will
//     bring. So no token is lost, because another request takes its place.
// A request is looked at when it arrives, and while it waits in the first kLastLook of its TTFT goal. Requests that are
// never late are never refused early: best effort, those that an engine had, those with a reservation. Invariant: an
// example pays for at most kPerExample early refusals. Owned by Rooms. A question is O(kSizes + kExamples), and
// O(Lane::kCountedAhead) when very many wait.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_EARLY_REFUSAL_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_EARLY_REFUSAL_H_

#include <array>
#include <vector>

#include "router/core/admission/drain_by_size.h"
#include "router/core/books/fleet_state.h"
#include "router/core/books/servers.h"
#include "router/core/queue/lateness.h"
#include "router/core/queue/waiting_room.h"

namespace penstock {

class EarlyRefusal {
 public:
  // Measured while bench/results/early-refusals.md was made. Without a reserve, fleets whose memory holds few prompts
  // lost 5 % of their tokens at 1.25 times the knee. With 0.8, the median refused request waited to the end.
  static constexpr double kLeastLate = 0.03;
  static constexpr double kExampleLife = 2;
  static constexpr int kPerExample = 3;
  static constexpr double kReserve = 0.5;
  // A prompt that takes a large part of a pool finds room by chance, so more of them must wait.
  static constexpr double kReserveOfLarge = 1.2;
  static constexpr double kTooMany = 1.2;
  // A fleet that carries its load has 99 % on time. With kLeastLate, multi-model had 0.2 points fewer on time at 1.25
  // times its knee (three seeds).
  static constexpr double kBeyondKnee = 0.01;
  // Parts of the TTFT goal: the time between two looks at a waiting request, and its age at the last look.
  static constexpr double kBetweenLooks = 0.1;
  static constexpr double kLastLook = 0.25;

  // Not `active`: no request is refused early.
  EarlyRefusal(const FleetState& fleet, const Servers& servers, const Lateness& lateness, const WaitingRoom& waiting,
               bool active)
      : fleet_(fleet), servers_(servers), lateness_(lateness), waiting_(waiting), active_(active) {}

  // The fleet has a new description: what was learned of vacant models and classes is forgotten.
  void Configure();

  // The request waits from now on, for the first time.
  void Waits(RequestState* request, Instant now);
  void WaitsNoMore(RequestState* request, Instant now) { LaneOf(*request).drain.WaitsNoMore(request, now); }
  // The request was dispatched for the first time.
  void Dispatched(const RequestState& request, Instant now) { LaneOf(request).drain.Dispatched(request, now); }
  // The waiting request is refused now because its last chance has passed.
  void WasLate(const RequestState& request, Instant now);

  // True: the waiting request is to be refused now. An example pays for it.
  bool Refuses(const RequestState& request, Instant now);
  // True: the requests of each lane that count as waiting are counted. O(waiting).
  bool SumsHold() const;
  // When a request that begins to wait must be looked at though nothing else happens, and again after a look.
  Instant NextCheck(const RequestState& request, Instant now) const;
  Instant NextCheckAfter(const RequestState& request, Instant now) const;

 private:
  static constexpr size_t kExamples = 16;  // The last ones; older ones are forgotten.
  // Estimates of equal requests differ: an example may stand this much further back, in TTFT goals, and be larger by
  // this factor.
  static constexpr double kPlaceBand = 0.05;
  static constexpr double kSizeBand = 1.18;

  // A request that was refused as late.
  struct Example {
    Instant at;
    ClassId service_class;
    TenantId tenant;
    Duration lead;  // From its last chance to its place in the order.
    double prompt = 0;
    int left = 0;  // Early refusals that it is still good for.
  };
  struct LaneEvidence {
    DrainBySize drain;
    std::array<Example, kExamples> examples{};  // A ring.
    size_t seen = 0;
  };

  LaneEvidence& LaneOf(const RequestState& request) { return lanes_[request.arrived.model.value()]; }
  // True: the request may be refused early at all.
  bool Concerns(const RequestState& request, Instant now) const;
  // True: those ahead in its class take longer than it can wait, by far.
  bool IsBehindTooMany(const RequestState& request, Instant now) const;
  bool HasReserve(const RequestState& request, Instant now) const;
  Example* ExampleFor(const RequestState& request, Instant now);
  // The next look at a request before it is late; Never: no further one.
  Instant NextLook(const RequestState& request, Instant now) const;

  const FleetState& fleet_;
  const Servers& servers_;
  const Lateness& lateness_;
  const WaitingRoom& waiting_;
  const bool active_;
  std::vector<LaneEvidence> lanes_;  // One entry per model.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_EARLY_REFUSAL_H_
