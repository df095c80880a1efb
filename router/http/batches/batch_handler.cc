#include "router/http/batches/batch_handler.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/jobs/api/job_fault.h"
#include "router/jobs/api/list_query.h"
#include "router/jobs/batch/batch_request.h"
#include "router/jobs/batch/batch_text.h"
#include "router/jobs/worker/job_thread.h"
#include "router/jobs/worker/wall_clock.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kJson = "application/json";

asio::awaitable<void> Fail(EventLoop& loop, Client& answer, const ApiError& error) {
  if (error.bad_input) loop.edge().telemetry->OnBadInput(*error.bad_input);
  co_await answer.Error(error);
}

asio::awaitable<void> Send(Client& answer, std::string json) {
  const HeaderList none;
  co_await SendWhole(answer, http_status::kOk, kJson, none, json);
}

// `param`: the parameter that has something that is not there, or is no good.
ApiError FaultIn(const jobs::JobError& error, absl::string_view param) {
  const bool of_param = error.kind == jobs::JobErrorKind::kNotFound || error.kind == jobs::JobErrorKind::kInvalid;
  return jobs::FaultOf(error, of_param ? param : "");
}

asio::awaitable<void> SendBatch(EventLoop& loop, Client& answer, const jobs::JobResult<jobs::Batch>& batch,
                                absl::string_view param = "") {
  if (batch.ok()) {
    co_await Send(answer, jobs::BatchJson(*batch));
  } else {
    const ApiError error = FaultIn(batch.error(), param);
    co_await Fail(loop, answer, error);
  }
}

jobs::NewBatch NewBatchOf(const Caller& caller, jobs::BatchRequest request) {
  jobs::NewBatch batch;
  batch.tenant = caller.tenant;
  batch.tenant_name = caller.name;
  batch.input_file_id = std::move(request.input_file_id);
  batch.endpoint = std::move(request.endpoint);
  batch.completion_window = std::move(request.completion_window);
  batch.metadata = std::move(request.metadata);
  batch.output_expires_after = request.output_expires_after;
  batch.expires_at = jobs::WallSeconds() + jobs::UnixSeconds(request.window.nanoseconds() / 1'000'000'000);
  return batch;
}

// A client that says nothing is taken to send JSON.
std::optional<ApiError> CheckForm(const ClientRequest& request) {
  const absl::string_view type = FindHeader(request.headers, "content-type");
  if (!type.empty() && !absl::StartsWithIgnoreCase(type, kJson)) {
    return MakeError(ErrorName::kContentType, "The content type of a batch must be application/json.");
  }
  if (!FindHeader(request.headers, "content-encoding").empty()) {
    return MakeError(ErrorName::kContentEncoding, "The body of a batch must not be compressed.");
  }
  if (request.body.size() <= kMaxBatchBody) return std::nullopt;
  return MakeError(ErrorName::kBodyTooLarge, absl::StrCat("The body of a batch may have ", kMaxBatchBody, " bytes."));
}

asio::awaitable<void> Create(EventLoop& loop, const ClientRequest& request, const Caller& caller, Client& answer) {
  if (const std::optional<ApiError> bad = CheckForm(request)) co_return co_await Fail(loop, answer, *bad);
  std::variant<jobs::BatchRequest, ApiError> read = jobs::ReadBatchRequest(request.body.view());
  if (const ApiError* bad = std::get_if<ApiError>(&read)) co_return co_await Fail(loop, answer, *bad);
  auto work = [batch = NewBatchOf(caller, std::get<jobs::BatchRequest>(std::move(read)))](jobs::JobStore& store) {
    return store.batches().Create(batch, jobs::WallSeconds());
  };
  const jobs::JobResult<jobs::Batch> made = co_await loop.edge().jobs->Call(loop.io(), std::move(work));
  if (made.ok()) loop.edge().on_batch(made->key);
  co_await SendBatch(loop, answer, made, "input_file_id");
}

asio::awaitable<void> Show(EventLoop& loop, std::string id, TenantId tenant, Client& answer) {
  auto work = [tenant, id = std::move(id)](jobs::JobStore& store) { return store.batches().Find(tenant, id); };
  const jobs::JobResult<jobs::Batch> found = co_await loop.edge().jobs->Call(loop.io(), std::move(work));
  co_await SendBatch(loop, answer, found);
}

// A batch that is being cancelled already stays so.
jobs::JobResult<jobs::Batch> CancelIn(jobs::JobStore& store, TenantId tenant, const std::string& id) {
  jobs::JobResult<jobs::Batch> found = store.batches().Find(tenant, id);
  if (!found.ok() || found->status == jobs::BatchStatus::kCancelling) return found;
  if (!jobs::MayFollow(found->status, jobs::BatchStatus::kCancelling)) {
    return jobs::JobError{jobs::JobErrorKind::kConflict,
                          absl::StrCat("Cannot cancel a batch with status '",
                                       jobs::kBatchStatusNames[static_cast<size_t>(found->status)], "'.")};
  }
  return store.batches().SetStatus(found->key, jobs::BatchStatus::kCancelling, jobs::WallSeconds());
}

asio::awaitable<void> Cancel(EventLoop& loop, std::string id, TenantId tenant, Client& answer) {
  auto work = [tenant, id = std::move(id)](jobs::JobStore& store) { return CancelIn(store, tenant, id); };
  const jobs::JobResult<jobs::Batch> cancelled = co_await loop.edge().jobs->Call(loop.io(), std::move(work));
  if (cancelled.ok()) loop.edge().on_batch(cancelled->key);
  co_await SendBatch(loop, answer, cancelled);
}

asio::awaitable<void> List(EventLoop& loop, const ClientRequest& request, TenantId tenant, Client& answer) {
  std::variant<jobs::ListQuery, ApiError> query = jobs::ReadListQuery(request.target, jobs::kBatchList);
  if (const ApiError* bad = std::get_if<ApiError>(&query)) co_return co_await Fail(loop, answer, *bad);
  auto work = [tenant, wanted = std::get<jobs::ListQuery>(std::move(query))](jobs::JobStore& store) {
    return store.batches().List(tenant, wanted);
  };
  const jobs::JobResult<jobs::ListPage<jobs::Batch>> page = co_await loop.edge().jobs->Call(loop.io(), std::move(work));
  if (page.ok()) {
    co_await Send(answer, jobs::BatchListJson(*page));
  } else {
    const ApiError error = FaultIn(page.error(), "after");
    co_await Fail(loop, answer, error);
  }
}

}  // namespace

bool TakesBatchBody(const RouteMatch& match, absl::string_view method) {
  return match.route == Route::kBatches && method == "POST";
}

asio::awaitable<void> AnswerBatches(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                    Client& answer) {
  const std::variant<Caller, ApiError> identified = loop.fleet()->tenants.Identify(request.headers);
  if (const ApiError* denied = std::get_if<ApiError>(&identified)) co_return co_await Fail(loop, answer, *denied);
  if (loop.edge().jobs == nullptr) {
    const ApiError off = jobs::JobsOff();
    co_return co_await Fail(loop, answer, off);
  }
  const Caller& caller = std::get<Caller>(identified);
  if (match.route == Route::kBatch) {
    co_await Show(loop, match.id, caller.tenant, answer);
  } else if (match.route == Route::kBatchCancel) {
    co_await Cancel(loop, match.id, caller.tenant, answer);
  } else if (request.method == "POST") {
    co_await Create(loop, request, caller, answer);
  } else {
    co_await List(loop, request, caller.tenant, answer);
  }
}

}  // namespace penstock
