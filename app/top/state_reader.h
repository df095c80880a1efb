// Reads the state of a router over HTTP, once at a time, without a thread.
#ifndef PENSTOCK_APP_TOP_STATE_READER_H_
#define PENSTOCK_APP_TOP_STATE_READER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "app/top/top_screen.h"
#include "app/top/top_state.h"
#include "backends/transport/upstream.h"
#include "base/units.h"

namespace penstock::top {

class StateReader {
 public:
  // `url` is for people; `key` that of an admin, or empty. `tls` is needed for https only.
  StateReader(UpstreamAddress address, std::string url, std::string key, TlsContext::Pointer tls);

  // Asks, unless an answer is on its way.
  void Begin();
  // Does what can be done without waiting.
  void Step() { loop_.poll(); }
  // An answer is on its way.
  bool busy() const { return busy_; }
  // Waits for the answer, for a few seconds at most.
  void Read();

  // The newest state that came.
  const TopState& state() const { return state_; }
  // The state as of now.
  const Link& link();

 private:
  boost::asio::awaitable<void> Ask();

  boost::asio::io_context loop_;
  const std::string key_;
  std::optional<UpstreamPool> pool_;
  TopState state_;
  Link link_;
  std::optional<Instant> read_at_;
  bool busy_ = false;
};

}  // namespace penstock::top

#endif  // PENSTOCK_APP_TOP_STATE_READER_H_
