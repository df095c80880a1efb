#include "router/jobs/run/batch_runner.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/clock.h"
#include "router/jobs/batch/batch_request.h"
#include "router/jobs/batch/batch_text.h"
#include "router/jobs/run/batch_errors.h"
#include "router/jobs/run/line_reading.h"
#include "router/jobs/worker/wall_clock.h"
#include "router/telemetry/batch_metrics.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

constexpr Duration kTick = Duration::Milliseconds(500);
constexpr Duration kStorePause = Duration::Seconds(1);
constexpr int64_t kExpiredLines = 1000;

bool Cancelled(const Job& job) { return job.batch.status == BatchStatus::kCancelling; }

}  // namespace

BatchRunner::BatchRunner(EventLoop& home, std::vector<EventLoop*> loops, JobThread& store)
    : home_(home), store_(store), flow_(home, std::move(loops), store), validations_(home.io()), tick_(home.io()) {}

void BatchRunner::Start() {
  asio::post(home_.io(), [this] {
    home_.edge().telemetry->batches().StartAtZero();
    flow_.Refresh();
    home_.connections().EnterGuest();
    asio::co_spawn(home_.io(), GoOn(), asio::detached);
    Tick();
  });
}

void BatchRunner::OnBatch(BatchKey key) {
  asio::post(home_.io(), [this, key] {
    if (stopping_) return;
    home_.connections().EnterGuest();
    asio::co_spawn(home_.io(), Look(key), asio::detached);
  });
}

void BatchRunner::Drain() {
  asio::post(home_.io(), [this] { End(/*leave_engines=*/false); });
}

void BatchRunner::End(bool leave_engines) {
  stopping_ = true;
  tick_.cancel();
  flow_.Stop(leave_engines);
  for (const auto& [key, job] : jobs_) job->wake.Notify();
}

void BatchRunner::Tick() {
  tick_.expires_after(ToChrono(kTick));
  tick_.async_wait([this](const boost::system::error_code& error) {
    if (error || stopping_) return;
    flow_.Refresh();
    for (const auto& [key, job] : jobs_) {
      if (HasExpired(*job)) job->wake.Notify();
    }
    CountBatches();
    Tick();
  });
}

void BatchRunner::CountBatches() {
  std::array<int64_t, kBatchStatusCount> open{};
  for (const auto& [key, job] : jobs_) ++open[static_cast<size_t>(job->batch.status)];
  BatchMetrics& metrics = home_.edge().telemetry->batches();
  for (size_t i = 0; i < open.size(); ++i) {
    if (!HasEnded(static_cast<BatchStatus>(i))) metrics.SetOpen(kBatchStatusNames[i], open[i]);
  }
  metrics.SetLines(flow_.waiting(), flow_.placed());
}

template <class Work>
asio::awaitable<std::invoke_result_t<Work, JobStore&>> BatchRunner::Ask(Work work, const Job* job) {
  while (true) {
    auto result = co_await store_.Call(home_.io(), work);
    if (!MayPass(result) || stopping_ || (job != nullptr && Cancelled(*job))) co_return result;
    co_await Pause();
  }
}

asio::awaitable<void> BatchRunner::Pause() {
  asio::steady_timer timer(home_.io(), ToChrono(kStorePause));
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> BatchRunner::GoOn() {
  auto work = [](JobStore& store) { return store.batches().Unfinished(); };
  JobResult<std::vector<Batch>> unfinished = co_await Ask(std::move(work));
  if (unfinished.ok()) {
    for (Batch& batch : *unfinished) Adopt(std::move(batch));
  }
  home_.connections().LeaveGuest();
}

asio::awaitable<void> BatchRunner::Look(BatchKey key) {
  auto work = [key](JobStore& store) { return store.batches().Find(key); };
  JobResult<Batch> found = co_await Ask(std::move(work));
  const auto known = jobs_.find(key);
  if (found.ok() && known == jobs_.end()) {
    Adopt(*std::move(found));
  } else if (found.ok() && found->status == BatchStatus::kCancelling) {
    known->second->batch.status = found->status;
    known->second->wake.Notify();
  }
  home_.connections().LeaveGuest();
}

void BatchRunner::Adopt(Batch batch) {
  if (stopping_ || HasEnded(batch.status) || jobs_.contains(batch.key)) return;
  const auto job = std::make_shared<Job>(home_.io(), std::move(batch));
  const UnixSeconds wall = WallSeconds();
  const auto at = [wall](UnixSeconds time) { return Now() + Duration::Seconds((time - wall).AsDouble()); };
  job->began = at(job->batch.created_at());
  job->deadline = at(job->batch.expires_at);
  job->endpoint = EndpointOfPath(job->batch.endpoint).value_or(Endpoint::kChat);
  jobs_[job->batch.key] = job;
  home_.connections().EnterGuest();
  asio::co_spawn(home_.io(), Serve(job), asio::detached);
}

bool BatchRunner::HasExpired(const Job& job) const { return Now() >= job.deadline; }

bool BatchRunner::Interrupted(const Job& job) const {
  return stopping_ || job.faults.gone || !job.faults.too_large.empty() || Cancelled(job) || HasExpired(job);
}

asio::awaitable<void> BatchRunner::Serve(JobPointer job) {
  if (job->batch.status == BatchStatus::kValidating) co_await Validate(job);
  if (job->batch.status == BatchStatus::kInProgress) co_await RunLines(job);
  if (!stopping_ && !HasEnded(job->batch.status)) {
    if (job->faults.gone) {
      co_await FailWithoutAnswers(job);
    } else if (Cancelled(*job)) {
      co_await Finish(job, BatchStatus::kCancelled, ListOf(job->faults.input));
    } else if (!job->faults.too_large.empty()) {
      co_await Finish(job, BatchStatus::kFailed, TooLargeList(*job));
    } else if (job->batch.status == BatchStatus::kFinalizing || job->done()) {
      co_await Finish(job, BatchStatus::kCompleted, "");
    } else {
      co_await ExpireLines(job);
      if (!stopping_) co_await Finish(job, BatchStatus::kExpired, ListOf(job->faults.input));
    }
  }
  jobs_.erase(job->batch.key);
  home_.connections().LeaveGuest();
}

asio::awaitable<std::optional<JobResult<ReadSlice>>> BatchRunner::ReadSliceOf(JobPointer job) {
  std::optional<JobResult<ReadSlice>> slice;
  while (!slice || MayPass(*slice)) {
    if (slice) co_await Pause();  // The fault may be one of this input alone, so the gate is open.
    co_await validations_.Enter(job->batch.tenant);
    const auto leave = absl::MakeCleanup([this] { validations_.Leave(); });
    if (Interrupted(*job)) co_return std::nullopt;
    auto work = [key = job->batch.key](JobStore& store) { return ReadOn(store, key); };
    slice = co_await store_.Call(home_.io(), std::move(work));
  }
  co_return slice;
}

// A killed router goes on behind the slice.
asio::awaitable<void> BatchRunner::KeepErrors(JobPointer job) {
  auto work = [key = job->batch.key, list = ListOf(job->faults.input)](JobStore& store) {
    return store.batches().SetErrors(key, list);
  };
  co_await Ask(std::move(work), job.get());
}

asio::awaitable<void> BatchRunner::Validate(JobPointer job) {
  std::vector<std::string>& errors = job->faults.input;
  errors = ErrorsOf(job->batch.errors);
  for (bool ended = false; !ended;) {
    std::optional<JobResult<ReadSlice>> read = co_await ReadSliceOf(job);
    if (stopping_) co_return;
    if (!read || (!read->ok() && Cancelled(*job))) {
      errors.insert(errors.begin(), UnreadError(*job));
      co_return;
    }
    if (!read->ok()) {
      errors.assign(
          1, BatchErrorJson({"input_file_unreadable", "The input file cannot be read any more.", "input_file_id", 0}));
      co_return co_await Finish(job, BatchStatus::kFailed, ListOf(errors));
    }
    ReadSlice& slice = **read;
    ended = slice.ended;
    const size_t listed = errors.size();
    for (std::string& error : slice.errors) {
      if (errors.size() < kMostErrorsOfBatch) errors.push_back(std::move(error));
    }
    if (errors.size() > listed) co_await KeepErrors(job);
    home_.edge().telemetry->batches().OnLines(LineOutcome::kFailed, slice.counts.failed - job->batch.counts.failed);
    job->batch.counts = slice.counts;
    if (slice.refusal.empty()) continue;
    errors.assign(1, slice.refusal);
    co_return co_await Finish(job, BatchStatus::kFailed, ListOf(errors));
  }
  const LineCounts& counts = job->batch.counts;
  if (counts.total == 0) errors.assign(1, BatchErrorJson({"empty_file", "The input file has no lines.", "", 0}));
  if (counts.Open() == 0) co_return co_await Finish(job, BatchStatus::kFailed, ListOf(errors));
  auto work = [key = job->batch.key, list = ListOf(errors)](JobStore& store) {
    return store.batches().SetStatus(key, BatchStatus::kInProgress, WallSeconds(), list);
  };
  JobResult<Batch> begun = co_await Ask(std::move(work), job.get());
  // A conflict: the client has cancelled it meanwhile.
  job->batch.status = begun.ok() ? begun->status : BatchStatus::kCancelling;
}

asio::awaitable<void> BatchRunner::RunLines(JobPointer job) {
  flow_.Add(job);
  while (!Interrupted(*job) && !job->done()) co_await job->wake.Wait();
  if (!job->done()) {
    // A cancelled batch lets the lines at engines end.
    bool left = !stopping_ && (HasExpired(*job) || !job->faults.too_large.empty());
    flow_.Halt(job, /*leave_engines=*/left);
    // An answer that the disk does not take keeps no router from its end: the line runs again.
    while (job->busy() || (job->storing > 0 && !stopping_)) {
      co_await job->wake.Wait();
      // The window of a cancelled batch holds too.
      if (left || stopping_ || !HasExpired(*job)) continue;
      left = true;
      flow_.Halt(job, /*leave_engines=*/true);
    }
  }
  flow_.Remove(job->batch.key);
}

asio::awaitable<void> BatchRunner::ExpireLines(JobPointer job) {
  bool drained = false;
  auto forget = [key = job->batch.key](JobStore& store) {
    store.lines().Forget(key);
    return Done();
  };
  co_await Ask(std::move(forget));
  while (!drained && !stopping_ && !Cancelled(*job)) {
    // The job is quiet: what this work reads of it does not change.
    auto work = [job, batch = job->batch](JobStore& store) -> JobResult<int64_t> {
      JobResult<ClaimedLines> claimed = ClaimLines(store, batch, {kExpiredLines, LineFlow::kClaimBytes});
      if (!claimed.ok()) return claimed.error();
      std::vector<LineAnswer> answers = std::move(claimed->broken);
      for (const LineTask& task : claimed->tasks) answers.push_back(ExpiredAnswer(*job, task));
      if (answers.empty()) return int64_t{0};
      const JobResult<int64_t> stored = store.lines().StoreAnswers(answers);
      if (!stored.ok()) store.lines().Forget(batch.key);
      return stored;
    };
    const JobResult<int64_t> expired = co_await Ask(std::move(work), job.get());
    const bool full = !expired.ok() && expired.error().kind == JobErrorKind::kQuota;
    if (full) job->faults.input.push_back(TooLargeError(expired.error().message));
    if (!expired.ok()) co_return;
    home_.edge().telemetry->batches().OnLines(LineOutcome::kExpired, *expired);
    drained = *expired == 0;
  }
}

asio::awaitable<void> BatchRunner::FailWithoutAnswers(JobPointer job) {
  const std::vector<std::string> errors(
      1, BatchErrorJson({"output_file_gone", "Answers that were stored are gone.", "", 0}));
  co_await Finish(job, BatchStatus::kFailed, ListOf(errors));
}

asio::awaitable<void> BatchRunner::Finish(JobPointer job, BatchStatus end, std::string errors) {
  if (end == BatchStatus::kCompleted && job->batch.status == BatchStatus::kInProgress) {
    auto finalize = [key = job->batch.key](JobStore& store) {
      return store.batches().SetStatus(key, BatchStatus::kFinalizing, WallSeconds());
    };
    const JobResult<Batch> finalizing = co_await Ask(std::move(finalize));
    // Cancelled in the last moment: every line has its answer, but the client's word counts.
    if (!finalizing.ok()) end = BatchStatus::kCancelled;
  }
  auto work = [key = job->batch.key, end, errors](JobStore& store) {
    return store.lines().Forget(key), store.batches().Finish(key, end, WallSeconds(), errors);
  };
  const JobResult<Batch> ended = co_await Ask(std::move(work));
  if (!ended.ok() && ended.error().kind == JobErrorKind::kGone && end != BatchStatus::kFailed) {
    co_return co_await FailWithoutAnswers(job);
  }
  // The client has cancelled it meanwhile: only a batch in `cancelling` takes this end.
  if (!ended.ok() && ended.error().kind == JobErrorKind::kConflict && end != BatchStatus::kCancelled) {
    co_return co_await Finish(job, BatchStatus::kCancelled, std::move(errors));
  }
  if (!ended.ok()) co_return;
  job->batch.status = ended->status;
  home_.edge().telemetry->batches().OnBatchEnd(kBatchStatusNames[static_cast<size_t>(ended->status)]);
}

}  // namespace penstock::jobs
