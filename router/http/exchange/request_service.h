// The meaning of requests, as a connection of any version of HTTP asks for it. One per loop or connection; used on its
// loop.
#ifndef PENSTOCK_ROUTER_HTTP_EXCHANGE_REQUEST_SERVICE_H_
#define PENSTOCK_ROUTER_HTTP_EXCHANGE_REQUEST_SERVICE_H_

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "router/http/exchange/answer.h"
#include "router/http/exchange/client_channel.h"
#include "router/http/request/request_reader.h"
#include "router/openai/error/api_error.h"

namespace penstock {

class RequestService {
 public:
  // The account of a body that is worth reading. Empty: the request is refused whatever its body says, or it has none.
  virtual std::optional<uint64_t> CallerOfBody(const ClientChannel& client, const RequestHead& head) = 0;
  // The largest body of a request with this head.
  virtual BodyBound LargestBody(const RequestHead& head) = 0;
  // The handler of the request reads its body in pieces.
  virtual bool TakesPieces(const RequestHead& head) = 0;

  // Answers one request. True: the connection can take another one.
  virtual boost::asio::awaitable<bool> Handle(ClientChannel& client, ClientRequest& request, Answer& answer) = 0;
  // Answers a request that could not be read; `head`: what is known of it.
  virtual boost::asio::awaitable<void> Refuse(ClientChannel& client, const RequestHead& head, const ApiError& error,
                                              Answer& answer) = 0;

 protected:
  ~RequestService() = default;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_EXCHANGE_REQUEST_SERVICE_H_
