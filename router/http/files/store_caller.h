// The caller of a request for the job store: its tenant, and its part of the memory and the places that all share.
#ifndef PENSTOCK_ROUTER_HTTP_FILES_STORE_CALLER_H_
#define PENSTOCK_ROUTER_HTTP_FILES_STORE_CALLER_H_

#include <cstdint>
#include <optional>

#include "base/fair_budget.h"
#include "router/jobs/api/store_call.h"
#include "router/live/event_loop.h"
#include "router/session/client/client.h"
#include "router/session/state/answer_memory.h"

namespace penstock {

class StoreCaller {
 public:
  // `address`: the account of a caller without a tenant. The edge has a job store.
  StoreCaller(EventLoop& loop, TenantId tenant, uint64_t address);

  // A download or a list takes one of the places until the end of this object. An error: there is none for the caller,
  // which is counted.
  std::optional<ApiError> TakePlace();
  // For one answer. The caller outlives it.
  jobs::StoreCall Call(Client& answer) { return {*loop_.edge().jobs, loop_.io(), tenant_, account_, memory_, answer}; }

 private:
  EventLoop& loop_;
  const TenantId tenant_;
  const uint64_t account_;
  AnswerMemory memory_;
  FairShare place_;
};

// Counts the error of an answer in the metrics, where it is a fault of the client or of its body's memory.
void CountStoreFault(EventLoop& loop, const ApiError& error);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_FILES_STORE_CALLER_H_
