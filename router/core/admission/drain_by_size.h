// Counts the requests of one lane that wait, and those that leave it for an engine, by the size of their prompts.
//
// Memory may hold up large prompts while small ones pass, so one drain rate says little about either. A size is half an
// octave of prompt tokens. A question about a prompt counts the prompts of about its size and larger. The rate is what
// the servers can take, not what is asked of them. So its clock runs only while somebody waits. Dispatches fade with a
// time constant of 10 s of that clock. Invariant: a request counts as waiting from Waits to WaitsNoMore, once. Owned by
// EarlyRefusal. Changes are O(1), questions O(kSizes).
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_DRAIN_BY_SIZE_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_DRAIN_BY_SIZE_H_

#include <array>
#include <cstdint>

#include "router/core/books/request_state.h"

namespace penstock {

class DrainBySize {
 public:
  void Waits(RequestState* request, Instant now);
  void WaitsNoMore(RequestState* request, Instant now);
  // The request was dispatched for the first time.
  void Dispatched(const RequestState& request, Instant now);

  // The requests that wait, and those that are dispatched in a second, with prompts of about this size or larger.
  struct Drain {
    int64_t waiting = 0;
    double rate = 0;
  };
  Drain From(Tokens prompt, Instant now) const;
  // The same rate of all prompts; 0 while too few seconds were seen.
  double Rate(Instant now) const;
  // The requests that wait; -1: the sizes do not add up to them.
  int64_t Recount() const;

 private:
  // Prompts of 16 million tokens have the last size.
  static constexpr int kSizes = 49;
  struct Size {
    int64_t waiting = 0;
    double dispatched = 0;  // Faded.
    double at = 0;          // The clock at the last dispatch.
  };

  static int SizeOf(Tokens prompt);
  // The clock in seconds.
  double ClockAt(Instant now) const { return waiting_ > 0 ? clock_ + (now - since_).seconds() : clock_; }
  void Tick(Instant now);

  std::array<Size, kSizes> sizes_{};
  int64_t waiting_ = 0;
  double clock_ = 0;  // Seconds in which somebody waited, until `since_`.
  Instant since_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_DRAIN_BY_SIZE_H_
