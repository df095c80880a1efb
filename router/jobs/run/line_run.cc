#include "router/jobs/run/line_run.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "router/session/session.h"

namespace penstock::jobs {
namespace asio = boost::asio;

LineRun::LineRun(EventLoop& home, EventLoop& loop, LineTask line_task, LineOrders orders, LinePlace its_place,
                 Listener listener)
    : task(std::move(line_task)),
      place(its_place),
      home_(home),
      loop_(loop),
      orders_(std::move(orders)),
      listener_(std::move(listener)),
      client_(orders_.endpoint) {
  inside_ = {orders_.caller, orders_.service_class, this};
  headers_.Add("content-type", "application/json");
}

void LineRun::Begin() {
  loop_.edge().requests.fetch_add(1, std::memory_order_relaxed);
  asio::post(loop_.io(), [self = shared_from_this()] {
    self->loop_.connections().EnterGuest();
    asio::co_spawn(self->loop_.io(), Run(self), asio::detached);
  });
}

void LineRun::Leave(bool waiting_only) {
  asio::post(loop_.io(), [self = shared_from_this(), waiting_only] {
    if (!waiting_only || !self->at_engine_) self->client_.Leave();
  });
}

void LineRun::OnForward() {
  at_engine_ = true;
  Tell(News::kPlaced);
}

void LineRun::OnRequeue() {
  at_engine_ = false;
  Tell(News::kUnplaced);
}

void LineRun::Tell(News news) {
  asio::post(home_.io(), [self = shared_from_this(), news] { self->listener_(self, news); });
}

asio::awaitable<void> LineRun::Run(std::shared_ptr<LineRun> self) {
  try {
    SessionRequest request{
        self->orders_.endpoint,     &self->headers_, self->task.body, self->orders_.id, boost::asio::ip::address(),
        self->place.tenant.value(), &self->inside_};
    Session session(self->loop_, self->client_, std::move(request));
    co_await session.Run();
    self->result = self->client_.result();
    self->body = self->client_.TakeBody();
  } catch (const std::exception&) {
    // This machine lacks memory: the line did not run.
    self->result = LineResult();
  }
  self->loop_.connections().LeaveGuest();
  self->loop_.edge().requests.fetch_sub(1, std::memory_order_relaxed);
  self->Tell(News::kEnded);
}

}  // namespace penstock::jobs
