// The connection of HTTP/2 as one of its streams sees it. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_HOST_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_HOST_H_

#include <cstdint>

#include "config/config.h"
#include "router/http/http2/session.h"
#include "router/live/event_loop.h"

namespace penstock::http2 {

class StreamHost {
 public:
  virtual EventLoop& loop() = 0;
  virtual const LimitsConfig& limits() const = 0;
  virtual Session& session() = 0;
  // Writes what the session has, as far as the socket takes it. Not from a call of the session.
  virtual void Flush() = 0;
  // The stream became ready or lost its client. The host acts on it when the session does not run.
  virtual void OnChange(StreamId stream) = 0;
  // Bytes behind those that the session gave away and that the client's machine has not taken; 0 unless the socket is
  // full.
  virtual uint64_t Untaken() const = 0;

 protected:
  ~StreamHost() = default;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_HOST_H_
