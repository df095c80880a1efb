// Lets one coroutine at a time go on. Tenants take turns: of those that wait, the one whose last turn is oldest.
//
//   co_await gate.Enter(tenant);
//   ... work that others must not wait for in a row ...
//   gate.Leave();
//
// Belongs to one loop, whose coroutines it outlives. A turn costs a look at every waiter.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_TURN_GATE_H_
#define PENSTOCK_ROUTER_JOBS_RUN_TURN_GATE_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "router/live/signal.h"

namespace penstock::jobs {

class TurnGate {
 public:
  explicit TurnGate(boost::asio::io_context& loop) : loop_(loop) {}

  // Returns when the turn of the caller has come. Every Enter needs a Leave.
  boost::asio::awaitable<void> Enter(TenantId tenant);
  void Leave();

 private:
  // Lives in the frame of Enter.
  struct Waiter {
    TenantId tenant;
    Signal turn;
    bool called = false;
  };

  void Count(TenantId tenant);
  uint64_t LastTurn(const Waiter& waiter) const;

  boost::asio::io_context& loop_;
  std::vector<Waiter*> waiters_;        // In the order of their coming.
  std::map<TenantId, uint64_t> turns_;  // The number of the last turn; left out: none.
  uint64_t count_ = 0;
  bool taken_ = false;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_TURN_GATE_H_
