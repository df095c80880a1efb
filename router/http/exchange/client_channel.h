// The connection of a request as its handler sees it, in any version of HTTP.
//
// In HTTP/1.1 it is the connection and serves one request after another. In HTTP/2 it is one stream. Belongs to one
// loop.
#ifndef PENSTOCK_ROUTER_HTTP_EXCHANGE_CLIENT_CHANNEL_H_
#define PENSTOCK_ROUTER_HTTP_EXCHANGE_CLIENT_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "router/http/peer/client_peer.h"
#include "router/http/request/body_buffer.h"
#include "router/session/client/body_source.h"

namespace penstock {

class ClientChannel {
 public:
  enum class Use : uint8_t {
    kClient,
    kAdmin,  // Metrics and health, on their own listener.
    kSpare,  // The router is full: it ends behind its first answer, a refusal unless it is for metrics or health.
  };

  Use use() const { return use_; }
  // The connection names this address; a header of a request may name another.
  const ClientPeer& peer() const { return peer_; }
  // Bytes of answers that left.
  uint64_t written() const { return written_; }

  // The body of the present request, for a handler that takes it in pieces.
  virtual BodySource& upload() = 0;
  // Memory of a body that was served, for the next request's.
  virtual void Reuse(BodyBuffer body) = 0;

 protected:
  ClientChannel(ClientPeer peer, Use use) : peer_(std::move(peer)), use_(use) {}
  ~ClientChannel() = default;

  ClientPeer& named_peer() { return peer_; }
  void CountWritten(size_t bytes) { written_ += bytes; }

 private:
  ClientPeer peer_;
  const Use use_;
  uint64_t written_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_EXCHANGE_CLIENT_CHANNEL_H_
