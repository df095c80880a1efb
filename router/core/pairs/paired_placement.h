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

  // PatientPlacement::ChooseOrWait, and no choice where no prefill replica can take the prompt.
  std::optional<Choice> ChooseOrWait(RequestState* request, Instant now) {
    if (!pairs.Choose(request, now)) return std::nullopt;
    return request->stage.apart ? Choose(request, now) : PatientPlacement::ChooseOrWait(request, now);
  }

  Pairs pairs;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PAIRS_PAIRED_PLACEMENT_H_
