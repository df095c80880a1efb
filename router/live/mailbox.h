// Carries actions from the decision core to one loop, in decision order.
//
// Push is called by whoever is in the core, before it leaves; the loop takes them out in Drain. A thread that serves
// the mailbox's own loop drains it right after leaving the core, without a wake-up. Thread-safe where said.
#ifndef PENSTOCK_ROUTER_LIVE_MAILBOX_H_
#define PENSTOCK_ROUTER_LIVE_MAILBOX_H_

#include <boost/asio/io_context.hpp>
#include <functional>
#include <mutex>
#include <vector>

#include "router/core/contract/action.h"

namespace penstock {

class Mailbox {
 public:
  // `deliver` runs on the loop's thread.
  Mailbox(boost::asio::io_context& loop, std::function<void(const RequestAction&)> deliver);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Any thread.
  void Push(const RequestAction& action);
  // The loop's thread. Within a delivery it does nothing: the drain under way delivers what comes.
  void Drain();

  // Called once by the loop's thread before it runs.
  void OwnThisThread();
  // The mailbox of the calling thread; null on threads that serve no loop.
  static Mailbox* OfThisThread();

 private:
  // Moves the queue into `actions`, which is empty. False: nothing came.
  bool Take(std::vector<RequestAction>& actions);

  boost::asio::io_context& loop_;
  const std::function<void(const RequestAction&)> deliver_;
  std::mutex mutex_;
  std::vector<RequestAction> queue_;
  bool drain_posted_ = false;
  bool draining_ = false;             // The loop's thread.
  std::vector<RequestAction> spare_;  // The loop's thread: empty, with the room of earlier actions.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_MAILBOX_H_
