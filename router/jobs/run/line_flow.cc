#include "router/jobs/run/line_flow.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/clock.h"
#include "router/jobs/batch/batch_text.h"
#include "router/jobs/run/line_terms.h"
#include "router/telemetry/batch_metrics.h"

namespace penstock::jobs {
namespace asio = boost::asio;

namespace {

constexpr Duration kDiskPause = Duration::Seconds(1);
// Lines whose answers have the usual length take so small a part of the answers' memory together.
constexpr int64_t kLinesPart = 8;

}  // namespace

LineFlow::LineFlow(EventLoop& home, std::vector<EventLoop*> loops, JobThread& store)
    : home_(home), loops_(std::move(loops)), store_(store), timer_(home.io()) {}

ScheduledJob LineFlow::FactsOf(const Job& job) const {
  ScheduledJob facts;
  facts.tenant = job.batch.tenant;
  facts.began = job.began;
  facts.deadline = job.deadline;
  facts.total = job.batch.counts.total;
  const TenantConfig* tenant = FindTenant(home_.fleet()->config(), job.batch.tenant);
  // Nobody may be this tenant any more.
  if (tenant == nullptr && NeedsKey(home_.fleet()->config())) facts.tenant_most = 0;
  if (tenant == nullptr) return facts;
  facts.weight = tenant->weight;
  // The other half is for requests that do not wait for days.
  if (tenant->max_concurrent) facts.tenant_most = std::max<int64_t>(1, *tenant->max_concurrent / 2);
  return facts;
}

void LineFlow::Add(const JobPointer& job) {
  jobs_[job->batch.key] = job;
  schedule_.Put(job->batch.key, FactsOf(*job));
  Note(job);
}

void LineFlow::Note(const JobPointer& job) {
  const BatchKey key = job->batch.key;
  if (!schedule_.Has(key)) return;
  schedule_.SetOpen(key, job->batch.counts.Open());
  if (job->done() || job->stopped || job->faults.gone || !job->faults.too_large.empty()) job->wake.Notify();
  PumpSoon();
}

void LineFlow::CountLane(const JobPointer& job, uint64_t lane) {
  const BatchKey key = job->batch.key;
  if (!schedule_.Has(key)) return;
  const auto found = job->at_hand.find(lane);
  const int64_t at_hand = found == job->at_hand.end() ? 0 : static_cast<int64_t>(found->second.size());
  schedule_.SetLines(key, at_hand, lane, job->batch.counts.Open(), job->bytes_at_hand);
}

void LineFlow::Halt(const JobPointer& job, bool leave_engines) {
  job->stopped = true;
  line_bytes_ -= std::exchange(job->bytes_at_hand, 0);
  for (const auto& [lane, tasks] : std::exchange(job->at_hand, {})) CountLane(job, lane);
  for (const std::shared_ptr<LineRun>& run : job->runs) run->Leave(/*waiting_only=*/!leave_engines);
  Note(job);
}

void LineFlow::Remove(BatchKey key) {
  if (schedule_.Has(key)) schedule_.Remove(key);
  jobs_.erase(key);
}

void LineFlow::SetMost() {
  const Config& config = home_.fleet()->config();
  part_ = config.limits.max_answer_memory.value() / kLinesPart;
  const int64_t within = part_ / std::max<int64_t>(1, usual_bytes_);
  schedule_.SetMost(std::min(MostLines(config), std::max<int64_t>(1, within)));
}

void LineFlow::OnSize(size_t bytes) {
  // A long answer counts at once, and is forgotten over some ten short ones.
  const auto size = static_cast<int64_t>(bytes);
  usual_bytes_ = std::max(size, usual_bytes_ - (usual_bytes_ - size) / 10);
  SetMost();
}

void LineFlow::Refresh() {
  SetMost();
  for (const auto& [key, job] : jobs_) schedule_.Put(key, FactsOf(*job));
  PumpSoon();
}

void LineFlow::Stop(bool leave_engines) {
  stopped_ = true;
  timer_.cancel();
  for (const auto& [key, job] : jobs_) Halt(job, leave_engines);
}

void LineFlow::PumpSoon() {
  if (stopped_ || std::exchange(pump_due_, true)) return;
  asio::post(home_.io(), [this] {
    pump_due_ = false;
    Pump();
  });
}

void LineFlow::Pump() {
  if (stopped_ || unstored_ > 0 || storing_bytes_ > std::min(kMostStoring, part_)) return;
  const Instant now = Now();
  while (const std::optional<BatchKey> key = schedule_.Next(now)) StartLine(*key, now);
  const int64_t most_bytes = home_.fleet()->config().limits.max_body_memory.value() / kBodiesPart;
  const auto next_claim = [&] { return schedule_.NextClaim(now, LineBytes() < most_bytes); };
  while (const std::optional<BatchKey> key = next_claim()) Claim(*key);
  const Instant next = schedule_.NextChange(now);
  if (next != Instant::Never()) ArmTimer(next);
}

void LineFlow::ArmTimer(Instant at) {
  timer_.expires_at(ToTimePoint(at));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) PumpSoon();
  });
}

int64_t LineFlow::LineBytes() const { return line_bytes_ + claims_ * home_.fleet()->config().limits.max_body.value(); }

void LineFlow::Claim(BatchKey key) {
  const JobPointer job = jobs_.at(key);
  job->claiming = true;
  ++claims_;
  schedule_.OnClaim(key);
  auto work = [batch = job->batch](JobStore& store) -> JobResult<ClaimedLines> {
    if (const JobDone within = store.batches().CheckSize(batch); !within.ok()) return within.error();
    return ClaimLines(store, batch, {kClaimLines, kClaimBytes});
  };
  auto done = [this, job](JobResult<ClaimedLines> claimed) { OnClaimed(job, std::move(claimed)); };
  store_.Post(home_.io(), std::move(work), std::move(done));
}

void LineFlow::OnClaimed(const JobPointer& job, JobResult<ClaimedLines> claimed) {
  job->claiming = false;
  --claims_;
  if (!claimed.ok()) {
    if (claimed.error().kind == JobErrorKind::kQuota) job->faults.too_large = claimed.error().message;
    schedule_.OnClaimFailed(job->batch.key, Now(), kDiskPause);
  } else {
    job->drained = claimed->drained;
    schedule_.OnClaimed(job->batch.key, job->drained);
    for (LineTask& task : claimed->tasks) {
      if (job->stopped) break;
      const uint64_t lane = task.lane;
      job->bytes_at_hand += task.bytes();
      line_bytes_ += task.bytes();
      job->at_hand[lane].push_back(std::move(task));
      CountLane(job, lane);
    }
    for (LineAnswer& broken : claimed->broken) Store(job, std::move(broken), nullptr);
  }
  Note(job);
}

void LineFlow::StartLine(BatchKey key, Instant now) {
  const JobPointer job = jobs_.at(key);
  const std::shared_ptr<const FleetView>& fleet = home_.fleet();
  LinePlace place = schedule_.OnStart(key, now);
  const auto lane = job->at_hand.find(place.lane);
  LineTask task = std::move(lane->second.front());
  lane->second.pop_front();
  job->bytes_at_hand -= task.bytes();
  if (lane->second.empty()) job->at_hand.erase(lane);
  CountLane(job, place.lane);
  place.bytes = task.bytes();
  LineOrders orders{key, job->endpoint, LineId(job->batch.id, task.line.number),
                    CallerOf(fleet->config(), job->batch.tenant), ClassOfJobs(fleet->config())};
  EventLoop& loop = *loops_[next_loop_++ % loops_.size()];
  auto listen = [this](const std::shared_ptr<LineRun>& run, LineRun::News news) { OnNews(run, news); };
  const auto run = std::make_shared<LineRun>(home_, loop, std::move(task), std::move(orders), place, std::move(listen));
  job->runs.insert(run);
  run->Begin();
  Note(job);
}

void LineFlow::OnNews(const std::shared_ptr<LineRun>& run, LineRun::News news) {
  if (news == LineRun::News::kEnded) line_bytes_ -= run->place.bytes;
  const auto found = jobs_.find(run->job());
  if (found == jobs_.end()) return;
  const JobPointer job = found->second;
  switch (news) {
    case LineRun::News::kPlaced:
      schedule_.OnPlaced(run->place);
      break;
    case LineRun::News::kUnplaced:
      schedule_.OnUnplaced(run->place);
      // The line lost its engine, and no line of a halted batch begins any more.
      if (job->stopped) run->Leave(/*waiting_only=*/true);
      break;
    case LineRun::News::kEnded:
      schedule_.OnEnd(run->place);
      OnEnded(job, *run);
      CountLane(job, run->place.lane);
      job->runs.erase(run);
      break;
  }
  Note(job);
}

void LineFlow::OnEnded(const JobPointer& job, LineRun& run) {
  run.task.faults += FaultsOf(run.result);
  run.result.awaited = IsAwaited(run.result, home_.fleet()->book.unheard().any, job->served.contains(run.place.lane));
  const LineEnd end = EndOf(run.result, run.task.faults);
  if (end == LineEnd::kAgain || end == LineEnd::kReturned) return TryAgain(job, run);
  if (!run.result.engine_fault) schedule_.OnAnswered(run.job(), run.place.lane);
  if (end == LineEnd::kAnswered) job->served.insert(run.place.lane);
  job->refusals.erase(run.task.line.number);
  home_.edge().telemetry->batches().OnTokens(run.usage.prompt, run.usage.output);
  OnSize(run.row.text.size());
  const bool failed = end == LineEnd::kFailed || !run.row.good;
  LineAnswer answer{run.job(), run.task.line.number, failed, std::move(run.row.text), run.row.use};
  Store(job, std::move(answer), std::move(run.memory));
}

void LineFlow::TryAgain(const JobPointer& job, LineRun& run) {
  if (run.result.status != 0) job->refusals[run.task.line.number] = std::move(run.refusal);
  if (job->stopped) return;
  home_.edge().telemetry->batches().OnRetry();
  const bool fault = run.result.engine_fault;
  job->bytes_at_hand += run.task.bytes();
  line_bytes_ += run.task.bytes();
  schedule_.OnRefused(run.job(), run.place.lane, Now(), run.result.retry_after.value_or(Duration()));
  // A line that may be at fault lets the others pass.
  if (fault) {
    job->at_hand[run.place.lane].push_back(std::move(run.task));
  } else {
    job->at_hand[run.place.lane].push_front(std::move(run.task));
  }
}

void LineFlow::Store(const JobPointer& job, LineAnswer answer, AnswerMemoryPointer memory) {
  const auto bytes = static_cast<int64_t>(answer.text.size());
  ++job->storing;
  storing_bytes_ += bytes;
  auto done = [this, job, failed = answer.failed, bytes, memory = std::move(memory)](const JobDone& stored,
                                                                                     LineAnswer back) mutable {
    storing_bytes_ -= bytes;
    const auto is = [&stored](JobErrorKind kind) { return !stored.ok() && stored.error().kind == kind; };
    if (is(JobErrorKind::kQuota)) job->faults.too_large = stored.error().message;
    job->faults.gone = job->faults.gone || is(JobErrorKind::kGone);
    // A cancelled batch does not wait for room: its end lets its files be deleted.
    const bool dropped = is(JobErrorKind::kDiskFull) && job->batch.status == BatchStatus::kCancelling;
    const bool lost = is(JobErrorKind::kQuota) || job->faults.gone || dropped;
    if (!stored.ok() && !lost) return StoreLater(job, std::move(back), std::move(memory));
    --job->storing;
    memory.reset();
    if (!stored.ok()) return Note(job);
    ++(failed ? job->batch.counts.failed : job->batch.counts.completed);
    home_.edge().telemetry->batches().OnLines(failed ? LineOutcome::kFailed : LineOutcome::kCompleted);
    Note(job);
  };
  store_.StoreAnswer(home_.io(), std::move(answer), std::move(done));
}

void LineFlow::StoreLater(const JobPointer& job, LineAnswer answer, AnswerMemoryPointer memory) {
  ++unstored_;
  auto timer = std::make_shared<asio::steady_timer>(home_.io(), ToChrono(kDiskPause));
  auto again = [this, timer, job, answer = std::move(answer),
                memory = std::move(memory)](const boost::system::error_code&) mutable {
    --unstored_;
    --job->storing;
    Store(job, std::move(answer), std::move(memory));
  };
  timer->async_wait(std::move(again));
}

}  // namespace penstock::jobs
