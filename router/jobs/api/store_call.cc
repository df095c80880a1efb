#include "router/jobs/api/store_call.h"

#include <utility>

namespace penstock::jobs {
namespace asio = boost::asio;

asio::awaitable<Failed> Fail(StoreCall call, ApiError error) {
  (void)co_await call.client.Error(error);
  co_return Failed(std::move(error));
}

asio::awaitable<Failed> AnswerJson(StoreCall call, std::string json) {
  if (!call.memory.Hold(json.size())) {
    ApiError error = NoRoom(call);
    co_return co_await Fail(call, std::move(error));
  }
  const HeaderList none;
  (void)co_await SendWhole(call.client, http_status::kOk, kJsonType, none, json);
  co_return std::nullopt;
}

ApiError NoRoom(const StoreCall& call) {
  call.memory.CountRefusal();
  return MakeError(ErrorName::kNoAnswerMemory, "The router holds as many bytes of answers as it may. Retry later.");
}

}  // namespace penstock::jobs
