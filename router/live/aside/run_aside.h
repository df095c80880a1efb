// Runs long work for a coroutine on the thread beside its loop (AsideWorker), while the loop goes on with others.
//
//   const size_t bytes = text.size();
//   const Made made = co_await RunAside(loop.io(), bytes, [text = std::move(text)] { return Make(text); });
//
// The work owns all that it uses: the loop may end before it. It is destroyed on its thread, because giving many
// megabytes back takes time too. Cost: a thread where none runs, about 50 microseconds.
#ifndef PENSTOCK_ROUTER_LIVE_ASIDE_RUN_ASIDE_H_
#define PENSTOCK_ROUTER_LIVE_ASIDE_RUN_ASIDE_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "backends/socket/loop_door.h"
#include "router/live/aside/aside_worker.h"
#include "router/live/signal.h"

namespace penstock {

// Work with less than this is faster on its loop.
inline constexpr size_t kWorthRunningAside = 64 << 10;

// An exception of the work is one of the caller. One caller at a time may wait for it.
template <class Work, class Result = std::invoke_result_t<Work&>>
boost::asio::awaitable<Result> RunAside(boost::asio::io_context& loop, size_t bytes, Work work) {
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
  AsideWorker::Of(loop)->Run(bytes, [job, door = LoopDoor::Of(loop), weak = std::weak_ptr(waiter)] {
    job->Run();
    door->Post([weak] {
      const auto known = weak.lock();
      if (known == nullptr) return;
      known->ended = true;
      known->wake.Notify();
    });
  });
  while (!waiter->ended) co_await waiter->wake.Wait();
  // Freed here: the job may outlive this on its thread.
  if (job->fault) std::rethrow_exception(std::exchange(job->fault, nullptr));
  co_return *std::move(job->result);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_ASIDE_RUN_ASIDE_H_
