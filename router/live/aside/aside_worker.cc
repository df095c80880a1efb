#include "router/live/aside/aside_worker.h"

#include <boost/asio/execution_context.hpp>
#include <system_error>
#include <thread>
#include <utility>

namespace penstock {
namespace {

class WorkerOfLoop final : public boost::asio::execution_context::service {
 public:
  using key_type = WorkerOfLoop;  // NOLINT(readability-identifier-naming): Asio wants this name.

  explicit WorkerOfLoop(boost::asio::io_context& loop)
      : boost::asio::execution_context::service(loop), worker(std::make_shared<AsideWorker>()) {}

  static boost::asio::execution_context::id id;  // NOLINT(readability-identifier-naming)

  const std::shared_ptr<AsideWorker> worker;

 private:
  void shutdown() noexcept override { worker->Close(); }
};

boost::asio::execution_context::id WorkerOfLoop::id;

}  // namespace

std::shared_ptr<AsideWorker> AsideWorker::Of(boost::asio::io_context& loop) {
  return boost::asio::use_service<WorkerOfLoop>(loop).worker;
}

void AsideWorker::Run(size_t bytes, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    waiting_.emplace(bytes, std::move(work));
    if (std::exchange(runs_, true)) return;
  }
  try {
    // The thread must not end what belongs to the loop.
    std::thread([self = shared_from_this()] { self->RunAll(); }).detach();
  } catch (const std::system_error&) {
    RunAll();
  }
}

void AsideWorker::Close() {
  std::multimap<size_t, Work> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(waiting_);
}

void AsideWorker::RunAll() {
  while (const Work work = Next()) work();
}

AsideWorker::Work AsideWorker::Next() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    runs_ = false;
    return nullptr;
  }
  return std::move(waiting_.extract(waiting_.begin()).mapped());
}

}  // namespace penstock
