#include "router/http/page_handler.h"

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/http/pages/made_aside.h"
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

asio::awaitable<PageFeed::Pointer> Snapshot(EventLoop& loop, Answer& answer, uint64_t after) {
  MadeAside<const PageSnapshot> made(loop, answer);
  const auto ask = [&loop, after](std::function<void(PageFeed::Pointer)> done) {
    loop.edge().page->Ask(after, std::move(done));
  };
  co_return co_await made.From(ask);
}

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
  uint64_t seen = 0;
  while (true) {
    const PageFeed::Pointer snapshot = co_await Snapshot(loop, answer, seen);
    if (snapshot == nullptr) co_return;
    seen = snapshot->sequence;
    const std::vector<absl::string_view> pieces(1, snapshot->event);
    const bool alive = co_await SendEvents(answer, headers, pieces);
    if (!alive) co_return;
  }
}

asio::awaitable<void> AnswerData(EventLoop& loop, absl::string_view part, Answer& answer) {
  const PageFeed::Pointer snapshot = co_await Snapshot(loop, answer, 0);
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

asio::awaitable<void> AnswerPage(EventLoop& loop, ClientChannel& client, const ClientRequest& request,
                                 absl::string_view part, Answer& answer) {
  if (const PageAsset* asset = FindPageAsset(part)) {
    const HeaderList headers = PageHeaders();
    co_await SendWhole(answer, http_status::kOk, asset->type, headers, asset->body);
    co_return;
  }
  std::optional<ApiError> denied =
      loop.fleet()->tenants.DenyAdmin(request.headers, client.use() == ClientChannel::Use::kAdmin);
  const bool streams = part == "events" && request.method != "HEAD";
  if (!denied && (loop.edge().page == nullptr || (streams && client.use() == ClientChannel::Use::kSpare)))
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
