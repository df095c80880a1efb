// Serves /v1/files: judges the caller, then the job store answers (router/jobs/api).
#ifndef PENSTOCK_ROUTER_HTTP_FILES_FILES_HANDLER_H_
#define PENSTOCK_ROUTER_HTTP_FILES_FILES_HANDLER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "router/http/request/request_reader.h"
#include "router/live/event_loop.h"
#include "router/openai/route/routes.h"
#include "router/session/client/body_source.h"
#include "router/session/client/client.h"

namespace penstock {

// Bytes of a form beside its file.
inline constexpr int64_t kRoomOfForm = 64 << 10;

// The body of such an upload is worth reading.
bool TakesUpload(const EventLoop& loop, const RouteMatch& match, absl::string_view content_type);

// `address`: the account of a caller without a tenant. `body`: of this request, where it is an upload.
boost::asio::awaitable<void> AnswerFiles(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                         uint64_t address, BodySource& body, Client& answer);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_FILES_FILES_HANDLER_H_
