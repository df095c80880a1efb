// Recounts the books from their members: ledger, pools, replicas, lanes.
//
// Tests recount after every event. A live core recounts after every few thousand: all books of a small core, and one
// replica in turn of a large core. No event then pays more than some ten microseconds. Invariant: a drift is counted,
// never corrected. Owned by PenstockCore.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_BOOK_CHECK_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_BOOK_CHECK_H_

#include <string>

#include "router/core/admission/rooms.h"

namespace penstock {

class BookCheck {
 public:
  // `every`: events between two recounts, at least 1.
  BookCheck(const Rooms& rooms, int64_t every) : rooms_(rooms), every_(every) {}

  // The first book that differs from the sum of its members, in words; empty: all are right. O((requests + pools) x
  // horizons).
  std::string FirstDrift() const;
  // An event was applied: recounts where it is time to.
  void AfterEvent();

  // Recounts that found a drift, and the last of them.
  int64_t drifts() const { return drifts_; }

 private:
  std::string FirstPoolDrift() const;
  std::string FirstRequestDrift() const;
  // Replicas whose requests hold more blocks of prompts in all are left out.
  std::string FirstBlockDrift(int64_t most_uses) const;
  std::string FirstDriftWith(int64_t most_uses) const;

  const Rooms& rooms_;
  const int64_t every_;
  int64_t events_ = 0;
  int64_t drifts_ = 0;
  size_t next_replica_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_BOOK_CHECK_H_
