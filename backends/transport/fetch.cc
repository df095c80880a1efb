#include "backends/transport/fetch.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {
constexpr Duration kTimeout = Duration::Milliseconds(2'000);
constexpr size_t kLimit = 4 << 20;
}  // namespace

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
  if (head->status == 503) co_return absl::UnavailableError(absl::StrCat(request.target, ": ", body->substr(0, 200)));
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
  if (fetched->status == 401 || fetched->status == 403) co_return absl::UnauthenticatedError(message);
  if (fetched->status == 404 || fetched->status == 405 || fetched->status == 501) {
    co_return absl::NotFoundError(message);
  }
  co_return absl::UnavailableError(message);
}

boost::asio::awaitable<absl::StatusOr<std::string>> FetchUnlessRefused(UpstreamPool& pool, std::string target,
                                                                       absl::string_view key) {
  auto fetched = co_await Fetch(pool, target, key);
  if (!fetched.ok()) co_return fetched.status();
  if (fetched->ok()) co_return std::move(fetched->body);
  if (fetched->status == 501 || (fetched->status >= 400 && fetched->status < 500)) co_return std::string();
  const std::string message = absl::StrCat(target, ": status ", fetched->status);
  if (fetched->status == 502 || fetched->status == 504) co_return absl::UnavailableError(message);
  co_return absl::FailedPreconditionError(message);
}

}  // namespace penstock
