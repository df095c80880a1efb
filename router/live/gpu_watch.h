// The GPU accounts of a live router: every event of the core, and the overdue streams every 25 ms.
//
// Observe is called inside the core's lock, the others by any thread. A short mutex of its own guards the accounts;
// nothing is called under it. Time that comes from several threads may go back by microseconds; the accounts then wait.
// Costs: core/accounts/work_book.h; bench/micro measures them.
#ifndef PENSTOCK_ROUTER_LIVE_GPU_WATCH_H_
#define PENSTOCK_ROUTER_LIVE_GPU_WATCH_H_

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "router/core/accounts/gpu_accounts.h"
#include "router/core/accounts/stranded_book.h"
#include "router/core/accounts/work_book.h"

namespace penstock {

class GpuWatch {
 public:
  void Observe(const Event& event, Instant now, const std::vector<Action>& actions);
  // `late[replica]` of its streams are overdue. `waits`: what memory holds back now.
  void Sample(std::span<const int64_t> late, const MemoryWaits& waits, Instant now);
  // Takes the prices of an hour by the names of GPUs; a GPU that is missing has none.
  void SetPrices(std::map<std::string, double> prices, Instant now);
  GpuReport Report(Instant now) const;

 private:
  void Price(Instant now);
  double PriceOf(const std::string& name) const;

  mutable std::mutex mutex_;  // Guards everything below.
  mutable GpuAccounts accounts_;
  WorkBook book_{accounts_};
  mutable StrandedBook stranded_;
  // Positions are those of the GPUs.
  std::shared_ptr<const std::vector<std::string>> names_ = std::make_shared<std::vector<std::string>>();
  std::vector<bool> present_;
  std::map<std::string, double> prices_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_GPU_WATCH_H_
