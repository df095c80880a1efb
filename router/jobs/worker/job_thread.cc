#include "router/jobs/worker/job_thread.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "router/jobs/worker/wall_clock.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

// Expired files go away with a delay of so much at most.
constexpr std::chrono::milliseconds kTidyPeriod{5000};
// Between two steps while there is more to tidy, so that works go on.
constexpr std::chrono::milliseconds kTidyPause{1};

}  // namespace

JobResult<std::unique_ptr<JobThread>> JobThread::Open(const std::string& folder, const StoreLimits& limits,
                                                      OnFault on_fault) {
  auto store = JobStore::Open(folder, limits);
  if (!store.ok()) return store.error();
  return std::unique_ptr<JobThread>(new JobThread(*std::move(store), std::move(on_fault)));
}

JobThread::JobThread(std::unique_ptr<JobStore> store, OnFault on_fault)
    : store_(std::move(store)), on_fault_(std::move(on_fault)) {
  NoteUse();
  thread_ = std::thread([this] { Serve(); });
}

JobThread::~JobThread() { Stop(); }

void JobThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void JobThread::Run(Work work) {
  {
    const std::lock_guard lock(mutex_);
    works_.Push(std::move(work));
  }
  changed_.notify_one();
}

void JobThread::RunInTurn(uint64_t caller, Work work) {
  {
    const std::lock_guard lock(mutex_);
    works_.PushInTurn(caller, std::move(work));
  }
  changed_.notify_one();
}

void JobThread::Serve() {
  // A step of tidying is due at this time, however many works wait.
  auto due = std::chrono::steady_clock::now();
  while (true) {
    Work work = Next(due);
    if (work != nullptr) {
      Do(work);
    } else {
      const std::lock_guard lock(mutex_);
      if (stopping_ && works_.empty()) return;
    }
    if (std::chrono::steady_clock::now() >= due) {
      const bool more = Tidy();
      due = std::chrono::steady_clock::now() + (more ? kTidyPause : kTidyPeriod);
    }
    NoteUse();
  }
}

void JobThread::Do(Work& work) {
  busy_since_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
  work(*store_);
  busy_since_.store(kIdle, std::memory_order_relaxed);
}

std::optional<std::chrono::seconds> JobThread::BusyFor() const {
  const auto since = busy_since_.load(std::memory_order_relaxed);
  if (since == kIdle) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - since);
}

JobThread::Work JobThread::Next(std::chrono::steady_clock::time_point due) {
  std::unique_lock lock(mutex_);
  const auto wanted = [this] { return stopping_ || !works_.empty(); };
  changed_.wait_until(lock, due, wanted);
  if (works_.empty()) return nullptr;
  return works_.Pop();
}

bool JobThread::Tidy() {
  JobResult<bool> more = false;
  Work tidy = [&more](JobStore& store) { more = store.Tidy(WallSeconds()); };
  Do(tidy);
  Note(more);
  return more.ok() && *more;
}

void JobThread::StoreAnswer(asio::io_context& io, LineAnswer answer, AnswerDone done) {
  auto told = [done = std::move(done), guard = asio::make_work_guard(io)](const JobDone& result,
                                                                          LineAnswer back) mutable {
    auto tell = [done = std::move(done), result, back = std::move(back)]() mutable { done(result, std::move(back)); };
    asio::post(guard.get_executor(), std::move(tell));
  };
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = answers_.empty();
    answers_.push_back({std::move(answer), std::move(told)});
  }
  if (first) Run([this](JobStore& store) { StoreGroup(store); });
}

std::vector<JobThread::Waiting> JobThread::TakeGroup() {
  const std::lock_guard lock(mutex_);
  size_t count = 0, size = 0;
  while (count < answers_.size() && (count == 0 || size + answers_[count].answer.text.size() <= kGroupBytes)) {
    size += answers_[count++].answer.text.size();
  }
  const auto end = answers_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Waiting> group(std::make_move_iterator(answers_.begin()), std::make_move_iterator(end));
  answers_.erase(answers_.begin(), end);
  if (!answers_.empty()) works_.Push([this](JobStore& store) { StoreGroup(store); });
  return group;
}

// A batch whose output cannot be written must not keep the answers of others from the disk.
void JobThread::StoreGroup(JobStore& store) {
  std::vector<Waiting> group = TakeGroup();
  std::stable_sort(group.begin(), group.end(),
                   [](const Waiting& a, const Waiting& b) { return a.answer.batch < b.answer.batch; });
  std::vector<LineAnswer> answers;
  answers.reserve(group.size());
  for (Waiting& waiting : group) answers.push_back(std::move(waiting.answer));
  const JobResult<int64_t> together = store.lines().StoreAnswers(answers);
  Note(together);
  const bool alone = !together.ok() && answers.front().batch != answers.back().batch;
  for (size_t begin = 0; begin < answers.size();) {
    size_t end = begin;
    while (end < answers.size() && answers[end].batch == answers[begin].batch) ++end;
    JobDone result = together.ok() ? Done() : JobDone(together.error());
    if (alone) {
      const auto stored = store.lines().StoreAnswers(std::span(answers).subspan(begin, end - begin));
      result = stored.ok() ? Done() : JobDone(stored.error());
    }
    for (; begin < end; ++begin) {
      group[begin].told(result, result.ok() ? LineAnswer() : std::move(answers[begin]));
    }
  }
}

void JobThread::SetLimits(const StoreLimits& limits) {
  Run([limits](JobStore& store) { store.SetLimits(limits); });
}

void JobThread::NoteError(const JobError& error) {
  if (IsFaultOfStore(error.kind) && on_fault_) on_fault_(error);
}

void JobThread::NoteUse() {
  const StoreUse use = store_->Use();
  files_.store(use.files, std::memory_order_relaxed);
  bytes_.store(use.bytes.value(), std::memory_order_relaxed);
  open_batches_.store(use.open_batches, std::memory_order_relaxed);
}

StoreUse JobThread::use() const {
  return {files_.load(std::memory_order_relaxed), Bytes(bytes_.load(std::memory_order_relaxed)),
          open_batches_.load(std::memory_order_relaxed)};
}

}  // namespace penstock::jobs
