// Waits, in the coroutine of a client, for a value that another thread makes, or for the end of the client.
//
//   MadeAside<const std::string> made(loop, answer);
//   const std::shared_ptr<const std::string> text = co_await made.From([&](auto done) { desk.Ask(std::move(done)); });
//
// Belongs to the thread of the loop. The value may come after this object has gone.
#ifndef PENSTOCK_ROUTER_HTTP_MADE_ASIDE_H_
#define PENSTOCK_ROUTER_HTTP_MADE_ASIDE_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "router/http/exchange/answer.h"
#include "router/live/event_loop.h"
#include "router/live/signal.h"

namespace penstock {

template <class Value>
class MadeAside {
 public:
  MadeAside(EventLoop& loop, Answer& answer)
      : loop_(loop), answer_(answer), awaited_(std::make_shared<Awaited>(loop.io())) {
    answer_.Watch([awaited = awaited_] { awaited->wake.Notify(); });
  }
  ~MadeAside() { answer_.Unwatch(); }
  MadeAside(const MadeAside&) = delete;
  MadeAside& operator=(const MadeAside&) = delete;

  // `ask(done)` starts the work; any thread calls `done` with the value, or nobody ever. Null: the client is gone.
  template <class Ask>
  boost::asio::awaitable<std::shared_ptr<Value>> From(Ask ask) {
    awaited_->value = nullptr;
    ask([awaited = awaited_, &io = loop_.io()](std::shared_ptr<Value> made) {
      boost::asio::post(io, [awaited, made = std::move(made)]() mutable {
        awaited->value = std::move(made);
        awaited->wake.Notify();
      });
    });
    while (awaited_->value == nullptr && !answer_.gone()) co_await awaited_->wake.Wait();
    co_return answer_.gone() ? nullptr : std::move(awaited_->value);
  }

 private:
  struct Awaited {
    explicit Awaited(boost::asio::io_context& loop) : wake(loop) {}
    Signal wake;
    std::shared_ptr<Value> value;
  };

  EventLoop& loop_;
  Answer& answer_;
  const std::shared_ptr<Awaited> awaited_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_MADE_ASIDE_H_
