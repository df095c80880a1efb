// The address of a publisher, with its host name looked up (backends/names).
//
// ZeroMQ would look the name up on its only thread. A look-up that hangs would hold the events of all engines there,
// and the end of the process. Belongs to one thread. No call waits.
#ifndef PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_TARGET_H_
#define PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_TARGET_H_

#include <memory>
#include <string>

namespace penstock {

class NameLookUps;

class EventTarget {
 public:
  // tcp://HOST:PORT. Any other text stays as it is.
  explicit EventTarget(std::string address);
  // `look_ups` outlive it.
  EventTarget(std::string address, NameLookUps& look_ups);

  // The address to connect to, with a number for the name; empty: none is known yet. Addresses of a name take turns.
  // Each call has the name looked up again, for the calls that follow.
  std::string At(size_t turn);

 private:
  struct Known;

  std::string address_;
  std::string host_;  // Empty: there is nothing to look up.
  NameLookUps* look_ups_;
  std::shared_ptr<Known> known_;  // A look-up shares it.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_KV_EVENTS_SOCKET_EVENT_TARGET_H_
