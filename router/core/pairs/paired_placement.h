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
    const bool offered = pairs.Choose(request, now);
    if (!request->stage.apart) return PatientPlacement::ChooseOrWait(request, now);
    if (!offered || pairs.IsLate(*request, now)) {
      if (std::optional<Choice> choice = ChooseWhole(request, now)) return choice;
    } else {
      // Decode replicas that open meanwhile are missed.
      request->waiting.whole.Forget();
    }
    return offered ? Choose(request, now) : std::nullopt;
  }

  Pairs pairs;

 private:
  // A decode replica that computes the prompt itself in time; the request has one stage then.
  std::optional<Choice> ChooseWhole(RequestState* request, Instant now) {
    const StageState stage = request->stage;
    const WaitReason reason = request->waiting.reason;
    request->stage = StageState();
    std::swap(request->waiting.tries, request->waiting.whole);
    std::optional<Choice> choice = Choose(request, now);
    std::swap(request->waiting.tries, request->waiting.whole);
    if (choice && pairs.InTime(*request, choice->expected_ttft, now)) return choice;
    // The best of all is late: the others are, until one opens.
    if (choice) request->waiting.whole.everywhere = true;
    request->stage = stage;
    request->waiting.reason = reason;
    return std::nullopt;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PAIRS_PAIRED_PLACEMENT_H_
