#include "router/http/page_handler.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/live/signal.h"
#include "router/page/page_asset.h"
#include "router/page/page_feed.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kJsonType = "application/json";
// Scripts, styles and data come from the router alone, and nothing in the page is markup of its data.
constexpr absl::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

HeaderList PageHeaders() {
  HeaderList headers;
  headers.Add("content-security-policy", kPolicy);
  headers.Add("x-content-type-options", "nosniff");
  headers.Add("referrer-policy", "no-referrer");
  headers.Add("cache-control", "no-cache");
  return headers;
}

HeaderList DataHeaders() {
  HeaderList headers;
  headers.Add("x-content-type-options", "nosniff");
  headers.Add("cache-control", "no-store");
  return headers;
}

// A coroutine that waits for a snapshot, or for the end of its client.
struct Awaited {
  explicit Awaited(asio::io_context& loop) : wake(loop) {}
  Signal wake;
  PageFeed::Pointer snapshot;
};

class SnapshotReader {
 public:
  SnapshotReader(EventLoop& loop, Answer& answer)
      : loop_(loop), answer_(answer), awaited_(std::make_shared<Awaited>(loop.io())) {
    answer_.Watch([awaited = awaited_] { awaited->wake.Notify(); });
  }
  ~SnapshotReader() { answer_.Unwatch(); }
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  // Null: the client is gone.
  asio::awaitable<PageFeed::Pointer> Next(uint64_t after) {
    awaited_->snapshot = nullptr;
    loop_.edge().page->Ask(after, [awaited = awaited_, &io = loop_.io()](PageFeed::Pointer made) {
      asio::post(io, [awaited, made = std::move(made)]() mutable {
        awaited->snapshot = std::move(made);
        awaited->wake.Notify();
      });
    });
    while (awaited_->snapshot == nullptr && !answer_.gone()) co_await awaited_->wake.Wait();
    co_return answer_.gone() ? nullptr : std::move(awaited_->snapshot);
  }

 private:
  EventLoop& loop_;
  Answer& answer_;
  const std::shared_ptr<Awaited> awaited_;
};

// A viewer is no request that a drain waits for.
class Viewer {
 public:
  explicit Viewer(Edge& edge) : edge_(edge), entered_(edge.page->Enter()) {
    if (entered_) edge_.requests.fetch_sub(1, std::memory_order_relaxed);
  }
  ~Viewer() {
    if (!entered_) return;
    edge_.requests.fetch_add(1, std::memory_order_relaxed);
    edge_.page->Leave();
  }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;
  bool entered() const { return entered_; }

 private:
  Edge& edge_;
  const bool entered_;
};

ApiError TooManyViewers() {
  ApiError error = TooManyConnections();
  error.message = absl::StrCat("The page has ", PageFeed::kMostViewers, " viewers already.");
  return error;
}

asio::awaitable<void> AnswerStream(EventLoop& loop, Answer& answer) {
  const Viewer viewer(loop.edge());
  if (!viewer.entered()) {
    const ApiError full = TooManyViewers();
    co_await answer.Error(full);
    co_return;
  }
  const HeaderList headers = DataHeaders();
  SnapshotReader reader(loop, answer);
  uint64_t seen = 0;
  while (true) {
    const PageFeed::Pointer snapshot = co_await reader.Next(seen);
    if (snapshot == nullptr) co_return;
    seen = snapshot->sequence;
    const std::vector<absl::string_view> pieces(1, snapshot->event);
    const bool alive = co_await SendEvents(answer, headers, pieces);
    if (!alive) co_return;
  }
}

asio::awaitable<void> AnswerData(EventLoop& loop, absl::string_view part, Answer& answer) {
  SnapshotReader reader(loop, answer);
  const PageFeed::Pointer snapshot = co_await reader.Next(0);
  if (snapshot == nullptr) co_return;
  const absl::string_view body = part == "fleet"      ? absl::string_view(snapshot->fleet)
                                 : part == "requests" ? absl::string_view(snapshot->requests)
                                 : part == "tenants"  ? absl::string_view(snapshot->tenants)
                                 : part == "shadow"   ? absl::string_view(snapshot->shadow)
                                                      : snapshot->state();
  const HeaderList headers = DataHeaders();
  co_await SendWhole(answer, http_status::kOk, kJsonType, headers, body);
}

}  // namespace

asio::awaitable<void> AnswerPage(EventLoop& loop, ClientConnection& client, const ClientRequest& request,
                                 absl::string_view part, Answer& answer) {
  if (const PageAsset* asset = FindPageAsset(part)) {
    const HeaderList headers = PageHeaders();
    co_await SendWhole(answer, http_status::kOk, asset->type, headers, asset->body);
    co_return;
  }
  std::optional<ApiError> denied =
      loop.fleet()->tenants.DenyAdmin(request.headers, client.use() == ClientConnection::Use::kAdmin);
  const bool streams = part == "events" && request.method != "HEAD";
  if (!denied && (loop.edge().page == nullptr || (streams && client.use() == ClientConnection::Use::kSpare)))
    denied = TooManyConnections();
  if (denied) {
    co_await answer.Error(*denied);
  } else if (streams) {
    co_await AnswerStream(loop, answer);
  } else {
    co_await AnswerData(loop, part, answer);
  }
}

}  // namespace penstock
