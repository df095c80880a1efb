// Notices during long work that the client left. The work asks between its slices.
#ifndef PENSTOCK_ROUTER_SESSION_CLIENT_ATTENDED_H_
#define PENSTOCK_ROUTER_SESSION_CLIENT_ATTENDED_H_

#include "router/session/client/client.h"

namespace penstock {

class Attended {
 public:
  // Nobody else watches the client meanwhile.
  explicit Attended(Client& client) : client_(client) {
    client_.Watch([] {});
  }
  ~Attended() { client_.Unwatch(); }
  Attended(const Attended&) = delete;
  Attended& operator=(const Attended&) = delete;

  bool gone() const { return client_.gone(); }

 private:
  Client& client_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_CLIENT_ATTENDED_H_
