// The addresses of a host name that a pool knows, and when it looks the name up again. Pure; time is an argument.
//
// Addresses are fresh for 10 s. Older ones serve on while a look-up runs, and a failed look-up keeps them: an engine
// does not vanish with its name server. After a failed connection they are distrusted, and the next connection waits
// for the look-up. Within a family the addresses are sorted, so all loops and polls reach the same engine first.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_KNOWN_ADDRESSES_H_
#define PENSTOCK_BACKENDS_TRANSPORT_KNOWN_ADDRESSES_H_

#include <vector>

#include "backends/socket/stream_socket.h"
#include "base/units.h"

namespace penstock {

class KnownAddresses {
 public:
  static constexpr Duration kFresh = Duration::Seconds(10);
  static constexpr Duration kRetry = Duration::Seconds(1);  // After a failed look-up.

  // An answer of the name server, not empty.
  void OnFound(std::vector<SocketAddress> addresses, Instant now);
  // Addresses that another loop found before, not empty. They serve while a look-up runs.
  void OnTold(std::vector<SocketAddress> addresses);
  void OnFailed(Instant now) { look_up_at_ = now + kRetry; }
  // No address could be reached.
  void Distrust() { trusted_ = false; }

  // The addresses, in the order in which to try them. Empty before the first answer.
  const std::vector<SocketAddress>& addresses() const { return addresses_; }
  // True: another look-up is due.
  bool Due(Instant now) const { return now >= look_up_at_ || !usable(); }
  // The addresses may be used without waiting for a look-up.
  bool usable() const { return trusted_ && !addresses_.empty(); }

 private:
  void Take(std::vector<SocketAddress> addresses);

  std::vector<SocketAddress> addresses_;
  Instant look_up_at_;
  bool trusted_ = true;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_KNOWN_ADDRESSES_H_
