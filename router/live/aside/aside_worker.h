// Runs long work of one loop on a thread beside it, one piece after the other.
//
//   AsideWorker::Of(loop)->Run(body.size(), [body = std::move(body), door] { ... door->Post(...); });
//
// One piece at a time bounds the memory that such work takes beside its input. The smallest piece goes first, so a
// short answer waits for one long answer at most. The thread begins with the first piece and ends behind the last.
#ifndef PENSTOCK_ROUTER_LIVE_ASIDE_ASIDE_WORKER_H_
#define PENSTOCK_ROUTER_LIVE_ASIDE_ASIDE_WORKER_H_

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace penstock {

class AsideWorker : public std::enable_shared_from_this<AsideWorker> {
 public:
  using Work = std::function<void()>;

  // While the loop lives. The loop may end before the worker.
  static std::shared_ptr<AsideWorker> Of(boost::asio::io_context& loop);

  // Any thread. The work throws nothing. Without a thread it runs at once; behind Close it is dropped. `bytes`: its
  // size.
  void Run(size_t bytes, Work work);
  // The end of the loop calls it: drops the pieces that wait.
  void Close();

 private:
  void RunAll();
  Work Next();

  std::mutex mutex_;
  std::multimap<size_t, Work> waiting_;  // Guarded, by size. Equal ones in the order of their arrival.
  bool runs_ = false;                    // Guarded: a thread takes what waits.
  bool closed_ = false;                  // Guarded.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_ASIDE_ASIDE_WORKER_H_
