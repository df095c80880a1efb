// Answers one request: routes it, and serves what needs no engine (models, health, metrics) itself.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>

#include "router/http/exchange/answer.h"
#include "router/http/exchange/client_channel.h"
#include "router/http/exchange/request_service.h"
#include "router/http/request/request_reader.h"

namespace penstock {

// The account of a body that is worth reading. Empty: the path, the method, the content type or the key is refused, or
// the route takes no body.
std::optional<uint64_t> CallerOfBody(EventLoop& loop, const ClientChannel& client, const RequestHead& head);

// The largest body of a request with this head.
BodyBound LargestBody(const EventLoop& loop, const RequestHead& head);
// The handler of the request reads its body in pieces.
bool TakesPieces(const RequestHead& head);

// Answers one request. True: the connection can take another one.
boost::asio::awaitable<bool> HandleRequest(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                           Answer& answer);
// Answers a request that could not be read, and counts its fault. `head`: what is known of it.
boost::asio::awaitable<void> RefuseRequest(EventLoop& loop, ClientChannel& client, const RequestHead& head,
                                           const ApiError& error, Answer& answer);

// The same for connections that do not know this room.
class HttpService final : public RequestService {
 public:
  explicit HttpService(EventLoop& loop) : loop_(loop) {}

  std::optional<uint64_t> CallerOfBody(const ClientChannel& client, const RequestHead& head) override {
    return penstock::CallerOfBody(loop_, client, head);
  }
  BodyBound LargestBody(const RequestHead& head) override { return penstock::LargestBody(loop_, head); }
  bool TakesPieces(const RequestHead& head) override { return penstock::TakesPieces(head); }
  boost::asio::awaitable<bool> Handle(ClientChannel& client, ClientRequest& request, Answer& answer) override {
    return HandleRequest(loop_, client, request, answer);
  }
  boost::asio::awaitable<void> Refuse(ClientChannel& client, const RequestHead& head, const ApiError& error,
                                      Answer& answer) override {
    return RefuseRequest(loop_, client, head, error, answer);
  }

 private:
  EventLoop& loop_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_
