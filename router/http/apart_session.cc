#include "router/http/apart_session.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "router/session/apart/detachable_client.h"
#include "router/session/session.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The parts of a request that its session refers to, and the session's client.
struct Apart {
  Apart(EventLoop& its_loop, ClientRequest& request, Answer& answer)
      : loop(its_loop),
        headers(request.headers),
        client_path(PathOf(OriginForm(request.target))),
        body(std::move(request.body)),
        memory(std::move(request.memory)),
        client(answer, its_loop.io()) {}

  EventLoop& loop;
  const HeaderList headers;
  const std::string client_path;
  const BodyBuffer body;
  const FairShare memory;
  DetachableClient client;
};

asio::awaitable<void> Run(std::shared_ptr<Apart> apart, std::unique_ptr<SessionRequest> request) {
  try {
    Session session(apart->loop, apart->client, std::move(*request));
    co_await session.Run();
    // NOLINTNEXTLINE(bugprone-empty-catch)
  } catch (const std::exception&) {  // This machine lacks memory: the client's connection ends without an answer.
  }
  apart->client.Finish();
  apart->loop.connections().LeaveGuest();
  apart->loop.edge().requests.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

bool MayRunApart(Endpoint endpoint, absl::string_view body) {
  return endpoint == Endpoint::kResponses && absl::StrContains(body, "\"background\"");
}

asio::awaitable<void> RunApart(EventLoop& loop, ClientRequest& request, SessionRequest session, Answer& answer) {
  auto apart = std::make_shared<Apart>(loop, request, answer);
  auto own = std::make_unique<SessionRequest>(std::move(session));
  own->headers = &apart->headers;
  own->body = apart->body.view();
  own->client_path = apart->client_path;
  own->method = "POST";
  own->record = nullptr;
  own->may_detach = true;
  loop.connections().EnterGuest();
  loop.edge().requests.fetch_add(1, std::memory_order_relaxed);
  asio::co_spawn(loop.io(), Run(apart, std::move(own)), asio::detached);
  co_await apart->client.Served();
}

}  // namespace penstock
