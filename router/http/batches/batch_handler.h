// /v1/batches: makes, shows, lists and cancels the batches of the caller's tenant.
//
// Waits for the store's thread, never for a disk. Without a store every answer names the key that gives one.
#ifndef PENSTOCK_ROUTER_HTTP_BATCHES_BATCH_HANDLER_H_
#define PENSTOCK_ROUTER_HTTP_BATCHES_BATCH_HANDLER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "router/http/request/request_reader.h"
#include "router/live/event_loop.h"
#include "router/openai/route/routes.h"
#include "router/session/client/client.h"

namespace penstock {

// The longest body of POST /v1/batches.
inline constexpr size_t kMaxBatchBody = 64 << 10;

// The route has a body that the handler reads.
bool TakesBatchBody(const RouteMatch& match, absl::string_view method);

// kBatches, kBatch and kBatchCancel. The body is read. `address`: the account of a caller without a tenant.
boost::asio::awaitable<void> AnswerBatches(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                           uint64_t address, Client& answer);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_BATCHES_BATCH_HANDLER_H_
