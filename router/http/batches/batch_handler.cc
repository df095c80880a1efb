#include "router/http/batches/batch_handler.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/http/files/store_caller.h"
#include "router/jobs/api/job_fault.h"
#include "router/jobs/api/list_answer.h"
#include "router/jobs/api/list_query.h"
#include "router/jobs/batch/batch_request.h"
#include "router/jobs/batch/batch_text.h"
#include "router/jobs/worker/wall_clock.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kJson = "application/json";

using jobs::Failed;

// A batch as its client gets it, made on the store's thread: its faults may be long.
struct ShownBatch {
  jobs::BatchKey key;
  std::string json;
};

jobs::JobResult<ShownBatch> Shown(const jobs::JobResult<jobs::Batch>& batch) {
  if (!batch.ok()) return batch.error();
  return ShownBatch{batch->key, jobs::BatchJson(*batch)};
}

// `param`: the parameter that has something that is not there, or is no good.
ApiError FaultIn(const jobs::JobError& error, absl::string_view param) {
  const bool of_param = error.kind == jobs::JobErrorKind::kNotFound || error.kind == jobs::JobErrorKind::kInvalid;
  return jobs::FaultOf(error, of_param ? param : "");
}

asio::awaitable<Failed> SendBatch(jobs::StoreCall call, jobs::JobResult<ShownBatch> batch,
                                  absl::string_view param = "") {
  if (batch.ok()) co_return co_await jobs::AnswerJson(call, std::move(batch->json));
  ApiError error = FaultIn(batch.error(), param);
  co_return co_await jobs::Fail(call, std::move(error));
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

asio::awaitable<Failed> Create(EventLoop& loop, const ClientRequest& request, const Caller& caller,
                               jobs::StoreCall call) {
  std::optional<ApiError> bad = CheckForm(request);
  if (bad) co_return co_await jobs::Fail(call, *std::move(bad));
  std::variant<jobs::BatchRequest, ApiError> read = jobs::ReadBatchRequest(request.body.view());
  if (ApiError* fault = std::get_if<ApiError>(&read)) co_return co_await jobs::Fail(call, std::move(*fault));
  auto work = [batch = NewBatchOf(caller, std::get<jobs::BatchRequest>(std::move(read)))](jobs::JobStore& store) {
    return Shown(store.batches().Create(batch, jobs::WallSeconds()));
  };
  jobs::JobResult<ShownBatch> made = co_await call.store.CallInTurn(call.io, call.caller, std::move(work));
  if (made.ok()) loop.edge().on_batch(made->key);
  co_return co_await SendBatch(call, std::move(made), "input_file_id");
}

asio::awaitable<Failed> Show(std::string id, jobs::StoreCall call) {
  auto work = [tenant = call.tenant, id = std::move(id)](jobs::JobStore& store) {
    return Shown(store.batches().Find(tenant, id));
  };
  jobs::JobResult<ShownBatch> found = co_await call.store.CallInTurn(call.io, call.caller, std::move(work));
  co_return co_await SendBatch(call, std::move(found));
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

asio::awaitable<Failed> Cancel(EventLoop& loop, std::string id, jobs::StoreCall call) {
  auto work = [tenant = call.tenant, id = std::move(id)](jobs::JobStore& store) {
    return Shown(CancelIn(store, tenant, id));
  };
  jobs::JobResult<ShownBatch> cancelled = co_await call.store.CallInTurn(call.io, call.caller, std::move(work));
  if (cancelled.ok()) loop.edge().on_batch(cancelled->key);
  co_return co_await SendBatch(call, std::move(cancelled));
}

asio::awaitable<Failed> List(const ClientRequest& request, StoreCaller& caller, jobs::StoreCall call) {
  std::variant<jobs::ListQuery, ApiError> query = jobs::ReadListQuery(request.target, jobs::kBatchList);
  if (ApiError* bad = std::get_if<ApiError>(&query)) co_return co_await jobs::Fail(call, std::move(*bad));
  std::optional<ApiError> full = caller.TakePlace();
  if (full) co_return co_await jobs::Fail(call, *std::move(full));
  jobs::ListSource source = [tenant = call.tenant](jobs::JobStore& store,
                                                   const jobs::ListQuery& part) -> jobs::JobResult<jobs::ListSlice> {
    const jobs::JobResult<jobs::ListPage<jobs::Batch>> page = store.batches().List(tenant, part);
    if (!page.ok()) return page.error();
    return jobs::SliceOf(*page, jobs::BatchJson);
  };
  co_return co_await jobs::AnswerList(call, std::get<jobs::ListQuery>(std::move(query)), std::move(source));
}

asio::awaitable<Failed> Dispatch(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                 const Caller& caller, StoreCaller& store, Client& answer) {
  const jobs::StoreCall call = store.Call(answer);
  std::string id = match.id;
  if (match.route == Route::kBatch) co_return co_await Show(std::move(id), call);
  if (match.route == Route::kBatchCancel) co_return co_await Cancel(loop, std::move(id), call);
  if (request.method == "POST") co_return co_await Create(loop, request, caller, call);
  co_return co_await List(request, store, call);
}

}  // namespace

bool TakesBatchBody(const RouteMatch& match, absl::string_view method) {
  return match.route == Route::kBatches && method == "POST";
}

asio::awaitable<void> AnswerBatches(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                    uint64_t address, Client& answer) {
  const std::variant<Caller, ApiError> identified = loop.fleet()->tenants.Identify(request.headers);
  Failed failed;
  if (const ApiError* denied = std::get_if<ApiError>(&identified)) {
    failed = *denied;
    (void)co_await answer.Error(*denied);
  } else if (loop.edge().jobs == nullptr) {
    failed = jobs::JobsOff();
    (void)co_await answer.Error(*failed);
  } else {
    const Caller& caller = std::get<Caller>(identified);
    StoreCaller store(loop, caller.tenant, address);
    failed = co_await Dispatch(loop, request, match, caller, store, answer);
  }
  if (failed) CountStoreFault(loop, *failed);
}

}  // namespace penstock
