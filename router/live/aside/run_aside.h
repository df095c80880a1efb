// Runs long work for a coroutine on a thread of its own, while its loop goes on with other connections.
//
//   const Made made = co_await RunAside(loop.io(), [text = std::move(text)] { return Make(text); });
//
// The work owns all that it uses: the loop may end before it. It is destroyed on its thread, because giving many
// megabytes back takes time too. Without a thread it runs at once. Cost: a thread, about 50 microseconds.
#ifndef PENSTOCK_ROUTER_LIVE_ASIDE_RUN_ASIDE_H_
#define PENSTOCK_ROUTER_LIVE_ASIDE_RUN_ASIDE_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "backends/socket/loop_door.h"
#include "router/live/signal.h"

namespace penstock {

// Work with less than this is faster on its loop.
inline constexpr size_t kWorthRunningAside = 64 << 10;

// An exception of the work is one of the caller. One caller at a time may wait for it.
template <class Work, class Result = std::invoke_result_t<Work&>>
boost::asio::awaitable<Result> RunAside(boost::asio::io_context& loop, Work work) {
  struct Job {
    explicit Job(Work the_work) : work(std::move(the_work)) {}
    void Run() {
      try {
        result.emplace((*work)());
      } catch (...) {
        fault = std::current_exception();
      }
      work.reset();
    }
    std::optional<Work> work;
    std::optional<Result> result;
    std::exception_ptr fault;
  };
  struct Waiter {
    explicit Waiter(boost::asio::io_context& its_loop) : wake(its_loop) {}
    Signal wake;
    bool ended = false;
  };
  const auto job = std::make_shared<Job>(std::move(work));
  const auto waiter = std::make_shared<Waiter>(loop);
  try {
    // The thread must not end what belongs to the loop.
    std::thread([job, door = LoopDoor::Of(loop), weak = std::weak_ptr(waiter)] {
      job->Run();
      door->Post([weak] {
        const auto known = weak.lock();
        if (known == nullptr) return;
        known->ended = true;
        known->wake.Notify();
      });
    }).detach();
  } catch (const std::system_error&) {
    job->Run();
    waiter->ended = true;
  }
  while (!waiter->ended) co_await waiter->wake.Wait();
  if (job->fault) std::rethrow_exception(job->fault);
  co_return *std::move(job->result);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_ASIDE_RUN_ASIDE_H_
