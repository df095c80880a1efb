#include "router/http/files/files_handler.h"

#include <optional>
#include <variant>

#include "router/jobs/api/files_api.h"
#include "router/jobs/api/job_fault.h"
#include "router/multipart/multipart_scanner.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

asio::awaitable<std::optional<ApiError>> Dispatch(jobs::FilesApi& api, const ClientRequest& request,
                                                  const RouteMatch& match, BodySource& body) {
  std::string id = match.id;
  if (match.route == Route::kFiles) {
    if (request.method == "POST") co_return co_await api.Upload(request.headers, body);
    co_return co_await api.List(request.target);
  }
  if (match.route == Route::kFileContent) co_return co_await api.Content(std::move(id), request.method == "HEAD");
  if (request.method == "DELETE") co_return co_await api.Delete(std::move(id));
  co_return co_await api.Show(std::move(id));
}

void CountFault(EventLoop& loop, const ApiError& error) {
  Telemetry& telemetry = *loop.edge().telemetry;
  if (error.bad_input) telemetry.OnBadInput(*error.bad_input);
  if (error.reason == LabelOf(TurnedAway::kBodyMemory)) telemetry.OnTurnedAway(TurnedAway::kBodyMemory);
}

}  // namespace

bool TakesUpload(const EventLoop& loop, const RouteMatch& match, absl::string_view content_type) {
  return match.route == Route::kFiles && loop.edge().jobs != nullptr &&
         MultipartScanner::BoundaryOf(content_type).has_value();
}

asio::awaitable<void> AnswerFiles(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                  BodySource& body, Client& answer) {
  const auto caller = loop.fleet()->tenants.Identify(request.headers);
  if (const ApiError* denied = std::get_if<ApiError>(&caller)) {
    (void)co_await answer.Error(*denied);
    co_return;
  }
  if (loop.edge().jobs == nullptr) {
    const ApiError off = jobs::JobsOff();
    (void)co_await answer.Error(off);
    co_return;
  }
  jobs::FilesApi api(*loop.edge().jobs, loop.io(), std::get<Caller>(caller).tenant, answer);
  const std::optional<ApiError> failed = co_await Dispatch(api, request, match, body);
  if (failed) CountFault(loop, *failed);
}

}  // namespace penstock
