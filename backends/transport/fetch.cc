#include "backends/transport/fetch.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {
constexpr Duration kTimeout = Duration::Milliseconds(2'000);
constexpr size_t kLimit = 4 << 20;
constexpr absl::string_view kHttpStatus = "penstock/http_status";

absl::Status Answered(absl::Status error, int status) {
  error.SetPayload(kHttpStatus, absl::Cord(absl::StrCat(status)));
  return error;
}

}  // namespace

int HttpStatusOf(const absl::Status& error) {
  const auto text = error.GetPayload(kHttpStatus);
  int status = 0;
  return text && absl::SimpleAtoi(std::string(*text), &status) ? status : 0;
}

boost::asio::awaitable<absl::StatusOr<Fetched>> Fetch(UpstreamPool& pool, std::string target, absl::string_view key) {
  UpstreamRequest request;
  request.method = "GET";
  request.target = std::move(target);
  request.headers.Add("Accept", "*/*");
  if (!key.empty()) request.headers.Add("Authorization", absl::StrCat("Bearer ", key));

  auto exchange = co_await pool.Send(request, kTimeout);
  if (!exchange.ok()) co_return exchange.status();
  auto head = co_await exchange->ReadHead(kTimeout);
  if (!head.ok()) co_return head.status();
  auto body = co_await exchange->ReadAll(kTimeout, kLimit);
  if (!body.ok()) co_return body.status();
  if (head->status == 503) {
    co_return Answered(absl::UnavailableError(absl::StrCat(request.target, ": ", body->substr(0, 200))), head->status);
  }
  Fetched fetched;
  fetched.status = head->status;
  fetched.body = *std::move(body);
  co_return fetched;
}

boost::asio::awaitable<absl::StatusOr<std::string>> FetchGood(UpstreamPool& pool, std::string target,
                                                              absl::string_view key) {
  auto fetched = co_await Fetch(pool, target, key);
  if (!fetched.ok()) co_return fetched.status();
  if (fetched->ok()) co_return std::move(fetched->body);
  const std::string message = absl::StrCat(target, ": status ", fetched->status);
  const int status = fetched->status;
  if (status == 401 || status == 403) co_return Answered(absl::UnauthenticatedError(message), status);
  if (status == 404 || status == 405 || status == 501) co_return Answered(absl::NotFoundError(message), status);
  co_return Answered(absl::UnavailableError(message), status);
}

boost::asio::awaitable<absl::StatusOr<std::string>> FetchUnlessRefused(UpstreamPool& pool, std::string target,
                                                                       absl::string_view key) {
  auto fetched = co_await Fetch(pool, target, key);
  if (!fetched.ok()) co_return fetched.status();
  if (fetched->ok()) co_return std::move(fetched->body);
  if (fetched->status == 501 || (fetched->status >= 400 && fetched->status < 500)) co_return std::string();
  const std::string message = absl::StrCat(target, ": status ", fetched->status);
  if (fetched->status == 502 || fetched->status == 504) {
    co_return Answered(absl::UnavailableError(message), fetched->status);
  }
  co_return Answered(absl::FailedPreconditionError(message), fetched->status);
}

}  // namespace penstock
