#include "router/http/files/files_handler.h"

#include <optional>
#include <variant>

#include "router/http/files/store_caller.h"
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

bool TakesPlace(const ClientRequest& request, const RouteMatch& match) {
  return match.route == Route::kFileContent || (match.route == Route::kFiles && request.method != "POST");
}

}  // namespace

bool TakesUpload(const EventLoop& loop, const RouteMatch& match, absl::string_view content_type) {
  return match.route == Route::kFiles && loop.edge().jobs != nullptr &&
         MultipartScanner::BoundaryOf(content_type).has_value();
}

asio::awaitable<void> AnswerFiles(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                  uint64_t address, BodySource& body, Client& answer) {
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
  StoreCaller store(loop, std::get<Caller>(caller).tenant, address);
  std::optional<ApiError> failed = TakesPlace(request, match) ? store.TakePlace() : std::nullopt;
  if (failed) {
    (void)co_await answer.Error(*failed);
  } else {
    jobs::FilesApi api(store.Call(answer));
    failed = co_await Dispatch(api, request, match, body);
  }
  if (failed) CountStoreFault(loop, *failed);
}

}  // namespace penstock
