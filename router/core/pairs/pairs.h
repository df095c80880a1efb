// Requests of models whose prompts one engine computes and another one answers: one placement over two pools.
//
// A request of such a model is placed when a prefill replica and a decode replica can take it. The prefill replica is
// the one that hands its cache over first. The decode replica is chosen as any other (router/core/placement), with the
// memory of the prompt and without its prefill. The first stage is a request of its own inside the core. It has the
// memory of the prompt on the prefill replica until the first token shows that the cache was handed over. While no
// prefill replica that could hold the prompt is up, decode replicas compute it.
// Invariant: a request in its first stage, or whose cache is being handed over, has exactly one open stage in the
// table, under StageOf(its id). Owned by Rooms. Choose is O(prefill replicas x horizons), the others as
// RunningRequests.
//
// A prompt of which little is left to compute on a decode replica has one stage, there. It would queue behind long
// prompts elsewhere, and the streams of the decode replica hardly notice it. So has a prompt whose prefill replicas are
// closed or too late, where a decode replica computes it in time (PairedPlacement).
#ifndef PENSTOCK_ROUTER_CORE_PAIRS_PAIRS_H_
#define PENSTOCK_ROUTER_CORE_PAIRS_PAIRS_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "router/core/books/forecasts.h"
#include "router/core/books/request_table.h"
#include "router/core/books/running_requests.h"
#include "router/core/pairs/prefillers.h"
#include "router/core/queue/work_list.h"

namespace penstock {

// The id of a request's first stage. No loop gives ids of this size.
constexpr RequestId StageOf(RequestId request) { return RequestId(request.value() | uint64_t{1} << 63); }

class Pairs {
 public:
  // The books that a stage is entered in; all outlive this object.
  struct Books {
    FleetState& fleet;
    const Servers& servers;
    Forecasts& forecasts;
    RequestTable& requests;
    RunningRequests& running;
    WorkList& work;
  };

  Pairs(const Books& books, MemoryTest& memory) : books_(books), prefillers_(books.fleet, books.servers, memory) {}

  // The fleet has a new description.
  void Configure() { prefillers_.Configure(); }

  // True: the fleet has prefill replicas.
  bool any() const { return prefillers_.any(); }
  // The request begins to wait: says whether its prompt is computed apart, and how long that takes at least.
  void Prepare(RequestState* request) const;
  // Requires Prepare. False: its prompt is to be computed apart, and no prefill replica can take it now. Its wait
  // reason is set, but where no replica opened since the last try.
  bool Choose(RequestState* request, Instant now);
  // True: by the last Choose, its cache is handed over after its first token is due.
  bool IsLate(const RequestState& request, Instant now) const {
    return now + Duration::Seconds(request.stage.ahead) > DueOf(request);
  }
  // When the first token of the request is due.
  Instant DueOf(const RequestState& request) const { return request.arrival + books_.fleet.GoalsOf(request).ttft; }
  // The request goes to a decode replica, right after Choose. Starts its first stage, where it has one.
  std::optional<PrefillOrder> Send(RequestState* request, Instant now);

  void Ended(const PrefillEnded& event, Instant now);
  // The request got its first token, so its cache was handed over.
  void HandedOver(RequestState* request, Instant now);
  // Ends the stages of requests whose first token nobody sees, once it is due.
  void Review(Instant now);
  // The request leaves its engines before that.
  void End(RequestState* request, Instant now);
  const Prefillers& prefillers() const { return prefillers_; }
  // The prefill replica of the request's open stage.
  std::optional<ReplicaId> ReplicaOf(const RequestState& request) const;

 private:
  // Little of the prompt is left to compute on a decode replica.
  bool IsShort(const RequestState& request) const;
  // The stage leaves its replica; its memory is free at `free_at`.
  void Leave(RequestState* stage, Instant free_at, Instant now);
  // The decode replica computes the prompt of the request.
  void ComputeHere(RequestState* request, Instant now);

  Books books_;
  Prefillers prefillers_;
  // The prefill replicas that the request is to be tried on; none also where the event can pay for no try.
  std::span<const size_t> ToTry(RequestState* request);

  std::vector<size_t> opened_;               // The memory of ToTry.
  std::unique_ptr<RequestState> candidate_;  // The stage that the last Choose was made for.
  Prefillers::Offer offer_;                  // Its result.
  std::vector<RequestId> unseen_;            // Requests whose cache is being handed over, and whose tokens nobody sees.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PAIRS_PAIRS_H_
