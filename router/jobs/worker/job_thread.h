// The thread of the job store, and the way of the event loops to it.
//
//   auto find = [tenant, id](jobs::JobStore& store) { return store.batches().Find(tenant, id); };
//   const jobs::JobResult<jobs::Batch> found = co_await edge.jobs->CallInTurn(loop.io(), caller, std::move(find));
//
// The router's own works run in the order of their calls, and those of clients in turn of their callers (WorkQueue).
// Each one may block for the time of the disk, so no loop does. Between works the thread removes what is expired.
// Thread-safe; owned by the server; lives longer than every loop.
#ifndef PENSTOCK_ROUTER_JOBS_WORKER_JOB_THREAD_H_
#define PENSTOCK_ROUTER_JOBS_WORKER_JOB_THREAD_H_

#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "router/jobs/store/job_store.h"
#include "router/jobs/worker/work_queue.h"

namespace penstock::jobs {

class JobThread {
 public:
  // The answers of one write hold so much text at most; a larger single answer is written alone.
  static constexpr size_t kGroupBytes = 8 << 20;

  // Called on the store's thread for every work that fails by a fault of the store.
  using OnFault = std::function<void(const JobError&)>;

  // Opens the store on the calling thread, so that its errors end the start of the router.
  static JobResult<std::unique_ptr<JobThread>> Open(const std::string& folder, const StoreLimits& limits,
                                                    OnFault on_fault);
  ~JobThread();
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // Any thread. `work` runs as work(JobStore&) on the store's thread, then `done` with its result on `io`.
  template <class Work, class Done>
  void Post(boost::asio::io_context& io, Work work, Done done) {
    Run(Told(io, std::move(work), std::move(done)));
  }

  // The same for a coroutine of `io`: returns work's result there. The result needs a default constructor.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work&, JobStore&>> Call(boost::asio::io_context& io, Work work) {
    using Result = std::invoke_result_t<Work&, JobStore&>;
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(Result)>(
        [this, &io, work = std::move(work)](auto handler) mutable { Post(io, std::move(work), std::move(handler)); },
        boost::asio::use_awaitable);
  }

  // The same for a client, whose work waits for its turn among those of all callers. Give works of some milliseconds.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work&, JobStore&>> CallInTurn(boost::asio::io_context& io,
                                                                            uint64_t caller, Work work) {
    using Result = std::invoke_result_t<Work&, JobStore&>;
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(Result)>(
        [this, &io, caller, work = std::move(work)](auto handler) mutable {
          RunInTurn(caller, Told(io, std::move(work), std::move(handler)));
        },
        boost::asio::use_awaitable);
  }

  // Runs once the answer is durable. With an error it is not stored, and comes back.
  using AnswerDone = absl::AnyInvocable<void(const JobDone&, LineAnswer)>;
  // Any thread. Stores one answer. Answers that come while the disk is busy share its next write. `done` runs on `io`.
  void StoreAnswer(boost::asio::io_context& io, LineAnswer answer, AnswerDone done);

  // Any thread: the limits of calls from now on.
  void SetLimits(const StoreLimits& limits);
  // Any thread: the figures after the newest work.
  StoreUse use() const;
  // The findings of Open.
  const StoreLeftovers& leftovers() const { return store_->leftovers(); }

  // Any thread: how long the present work or step of tidying lasts; nullopt while nothing runs.
  std::optional<std::chrono::seconds> BusyFor() const;

  // Runs all works that were posted, then closes the store. After every loop has ended. May be called twice.
  void Stop();

 private:
  static constexpr auto kIdle = std::chrono::steady_clock::time_point::max();
  using Work = WorkQueue::Work;
  struct Waiting {
    LineAnswer answer;
    AnswerDone told;  // On any thread.
  };

  JobThread(std::unique_ptr<JobStore> store, OnFault on_fault);
  // A work of the store's thread whose result `done` gets on `io`.
  template <class Wanted, class Done>
  Work Told(boost::asio::io_context& io, Wanted work, Done done) {
    return [this, work = std::move(work), done = std::move(done),
            guard = boost::asio::make_work_guard(io)](JobStore& store) mutable {
      auto result = work(store);
      Note(result);
      boost::asio::post(guard.get_executor(),
                        [done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
    };
  }
  void Run(Work work);
  void RunInTurn(uint64_t caller, Work work);
  void Serve();
  void Do(Work& work);
  // Nullptr: nothing came until then, or the thread ends.
  Work Next(std::chrono::steady_clock::time_point due);
  bool Tidy();
  void StoreGroup(JobStore& store);
  std::vector<Waiting> TakeGroup();
  void NoteUse();
  template <class T>
  void Note(const JobResult<T>& result) {
    if (!result.ok()) NoteError(result.error());
  }
  template <class T>
  void Note(const T&) {}
  void NoteError(const JobError& error);

  const std::unique_ptr<JobStore> store_;
  const OnFault on_fault_;
  std::mutex mutex_;
  std::condition_variable changed_;
  WorkQueue works_;
  std::deque<Waiting> answers_;
  bool stopping_ = false;
  std::atomic<std::chrono::steady_clock::time_point> busy_since_{kIdle};
  std::atomic<int64_t> files_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> open_batches_{0};
  std::thread thread_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_WORKER_JOB_THREAD_H_
