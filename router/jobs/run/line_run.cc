#include "router/jobs/run/line_run.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/jobs/batch/batch_text.h"
#include "router/live/aside/run_aside.h"
#include "router/session/session.h"
#include "router/session/state/text_parts.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

std::string RefusalOf(int status, TextParts& body) {
  constexpr size_t kLongest = 1000;
  std::string refusal = absl::StrCat("status ", status);
  if (body.size() <= kLongest && !body.parts().empty()) absl::StrAppend(&refusal, ": ", body.parts().front());
  return refusal;
}

}  // namespace

LineRun::LineRun(EventLoop& home, EventLoop& loop, LineTask line_task, LineOrders orders, LinePlace its_place,
                 Listener listener)
    : task(std::move(line_task)),
      place(its_place),
      home_(home),
      loop_(loop),
      orders_(std::move(orders)),
      listener_(std::move(listener)),
      client_(loop, home.fleet()->config().limits.max_answer_memory, orders_.endpoint) {
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
    co_await self->Ask();
    self->result = self->client_.result();
    if (self->result.status != 0) co_await self->MakeRow();
  } catch (const std::exception&) {
    // This machine lacks memory: the line did not run.
    self->result = LineResult();
  }
  self->loop_.connections().LeaveGuest();
  self->loop_.edge().requests.fetch_sub(1, std::memory_order_relaxed);
  self->Tell(News::kEnded);
}

asio::awaitable<void> LineRun::Ask() {
  SessionRequest request{orders_.endpoint,     &headers_, task.body, orders_.id, boost::asio::ip::address(),
                         place.tenant.value(), &inside_};
  Session session(loop_, client_, std::move(request));
  co_await session.Run();
}

asio::awaitable<void> LineRun::MakeRow() {
  TextParts body = client_.TakeBody();
  memory = client_.TakeMemory();
  refusal = RefusalOf(result.status, body);
  const size_t size = body.size();
  LineNames names{orders_.id, task.custom_id};
  auto work = [names = std::move(names), status = result.status, body = std::move(body)]() mutable {
    return MakeAnswerRow(names, status, std::move(body.parts()));
  };
  if (size < kWorthRunningAside) {
    row = work();
  } else {
    row = co_await RunAside(loop_.io(), size, std::move(work));
  }
}

}  // namespace penstock::jobs
