// The placement of requests that may need two replicas.
#ifndef PENSTOCK_ROUTER_CORE_PAIRS_PAIRED_PLACEMENT_H_
#define PENSTOCK_ROUTER_CORE_PAIRS_PAIRED_PLACEMENT_H_

#include <optional>
#include <utility>
#include <vector>

#include "router/core/batching/first_prefill.h"
#include "router/core/pairs/pairs.h"

namespace penstock {

class PairedPlacement : public PatientPlacement {
 public:
  PairedPlacement(const Pairs::Books& books, MemoryTest& memory, Floors& floors, std::vector<Guard> guards,
                  const SearchEffort& effort, bool waits)
      : PatientPlacement(books.fleet, books.servers, books.work, memory, floors, std::move(guards), effort, waits),
        pairs(books, memory) {}

  // PatientPlacement::ChooseOrWait. Where prefill replicas are closed, or would hand the cache over too late, a decode
  // replica computes the prompt if this is in time.
  std::optional<Choice> ChooseOrWait(RequestState* request, Instant now) {
    // Its stage may be of a fleet that had pairs.
    if (!pairs.any() && !request->stage.apart) return PatientPlacement::ChooseOrWait(request, now);
    pairs.Prepare(request);
    StageTries& tries = request->waiting.staged;
    if (!request->stage.apart) {
      tries.Forget();
      return PatientPlacement::ChooseOrWait(request, now);
    }
    if (LacksDecode(request, now)) return std::nullopt;
    const bool offered = pairs.Choose(request, now);
    tries.by_whole = !offered || pairs.IsLate(*request, now);
    if (tries.by_whole) {
      if (std::optional<Choice> choice = ChooseWhole(request, now)) return choice;
    } else {
      // Decode replicas that open meanwhile are missed.
      tries.whole.Forget();
    }
    return offered ? Choose(request, now) : std::nullopt;
  }

  // True: no replica is left to be tried, in either way.
  bool TriedEverywhere(const RequestState& request) const {
    const StageTries& tries = request.waiting.staged;
    if (tries.no_prefill) return tries.whole.everywhere;
    return PatientPlacement::TriedEverywhere(request) && (!tries.by_whole || tries.whole.everywhere);
  }

  Pairs pairs;

 private:
  // True: none of the decode replicas that opened could take the request, even if its cache came as soon as it can. So
  // no prefill replica need be asked.
  bool LacksDecode(RequestState* request, Instant now) {
    const StageTries& tries = request->waiting.staged;
    if (tries.no_prefill || tries.by_whole || !request->waiting.tries.everywhere) return false;
    request->stage.ahead = request->stage.least;
    return !Choose(request, now);
  }

  // A decode replica that computes the prompt itself in time; the request has one stage then.
  std::optional<Choice> ChooseWhole(RequestState* request, Instant now) {
    const StageState stage = request->stage;
    const WaitReason reason = request->waiting.reason;
    request->stage = StageState();
    std::swap(request->waiting.tries, request->waiting.staged.whole);
    std::optional<Choice> choice = Choose(request, now, pairs.DueOf(*request));
    std::swap(request->waiting.tries, request->waiting.staged.whole);
    if (choice) return choice;
    request->stage = stage;
    request->waiting.reason = reason;
    return std::nullopt;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PAIRS_PAIRED_PLACEMENT_H_
