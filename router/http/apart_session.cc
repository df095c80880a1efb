#include "router/http/apart_session.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "router/live/loop_turn.h"
#include "router/openai/request/request_scan.h"
#include "router/session/apart/detachable_client.h"
#include "router/session/client/attended.h"
#include "router/session/session.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kKey = "\"background\"";

// Keeps its loop at work, and counts as a request from Count() on.
class Guest {
 public:
  explicit Guest(EventLoop& loop) : loop_(loop) { loop_.connections().EnterGuest(); }
  ~Guest() {
    if (counted_) loop_.edge().requests.fetch_sub(1, std::memory_order_relaxed);
    loop_.connections().LeaveGuest();
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  void Count() {
    counted_ = true;
    loop_.edge().requests.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  EventLoop& loop_;
  bool counted_ = false;
};

// The parts of a request that its session refers to, and the session's client.
struct Apart {
  Apart(EventLoop& its_loop, ClientRequest& request, Answer& answer)
      : loop(its_loop),
        headers(request.headers),
        client_path(PathOf(OriginForm(request.target))),
        body(std::move(request.body)),
        memory(std::move(request.memory)),
        client(answer, its_loop.io(), its_loop.edge().draining),
        guest(std::in_place, its_loop) {}

  EventLoop& loop;
  const HeaderList headers;
  const std::string client_path;
  BodyBuffer body;
  FairShare memory;
  RequestRecord record;
  DetachableClient client;
  std::optional<Guest> guest;  // Empty: the session has ended.
};

asio::awaitable<void> Run(std::shared_ptr<Apart> apart, std::unique_ptr<SessionRequest> request) {
  try {
    Session session(apart->loop, apart->client, std::move(*request));
    co_await session.Run();
    // NOLINTNEXTLINE(bugprone-empty-catch)
  } catch (const std::exception&) {  // This machine lacks memory: the client's connection ends without an answer.
  }
  apart->client.Finish();
  apart->guest.reset();
}

}  // namespace

asio::awaitable<bool> MayRunApart(EventLoop& loop, Client& client, absl::string_view body) {
  const Attended attended(client);
  while (!attended.gone() && !absl::StrContains(body.substr(0, kScanSlice + kKey.size()), kKey)) {
    if (body.size() <= kScanSlice) co_return false;
    body.remove_prefix(kScanSlice);
    co_await LetOthersRun(loop.io());
  }
  co_return true;
}

asio::awaitable<void> RunApart(EventLoop& loop, ClientRequest& request, SessionRequest session, Answer& answer) {
  auto apart = std::make_shared<Apart>(loop, request, answer);
  auto own = std::make_unique<SessionRequest>(std::move(session));
  own->headers = &apart->headers;
  own->body = apart->body.view();
  own->client_path = apart->client_path;
  own->method = "POST";
  RequestRecord* const line = std::exchange(own->record, &apart->record);
  own->may_detach = true;
  asio::co_spawn(loop.io(), Run(apart, std::move(own)), asio::detached);
  co_await apart->client.Served();
  if (line != nullptr) *line = apart->record;
  // The connection counts the request as long as its client waits.
  if (apart->guest) apart->guest->Count();
  // The engine has the request, or nobody wants it any more.
  apart->body = BodyBuffer();
  apart->memory = FairShare();
}

}  // namespace penstock
