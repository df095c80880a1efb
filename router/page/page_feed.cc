#include "router/page/page_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "router/fleet/outside_pools.h"
#include "router/page/page_json.h"
#include "router/page/shadow_json.h"

namespace penstock {
namespace {

constexpr absl::string_view kEventHead = "event: snapshot\ndata: ";
constexpr absl::string_view kEventEnd = "\n\n";
// A loop that does not answer for so long is left out of a snapshot.
constexpr std::chrono::milliseconds kLoopPatience(500);

// The answers of the loops. A late answer finds it by its shared pointer.
struct Gathering {
  std::mutex mutex;
  std::condition_variable changed;
  size_t left = 0;
  std::vector<LoopCensus> parts;
  std::shared_ptr<const FleetView> fleet;
};

std::vector<LiveRequest> OldestOf(std::vector<LiveRequest> requests) {
  std::sort(requests.begin(), requests.end(), [](const LiveRequest& a, const LiveRequest& b) { return a.age > b.age; });
  if (requests.size() > PageFeed::kMostRequests) requests.resize(PageFeed::kMostRequests);
  return requests;
}

}  // namespace

absl::string_view PageSnapshot::state() const {
  return absl::string_view(event).substr(kEventHead.size(), event.size() - kEventHead.size() - kEventEnd.size());
}

double PageFeed::WallSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

PageFeed::PageFeed(Edge& edge, std::vector<EventLoop*> loops, std::string version, Comparison comparison)
    : edge_(edge),
      loops_(std::move(loops)),
      version_(std::move(version)),
      comparison_(std::move(comparison)),
      started_(Now()),
      configuration_(WallSeconds()) {}

PageFeed::~PageFeed() { Stop(); }

void PageFeed::Start() {
  thread_ = std::thread([this] { Run(); });
}

void PageFeed::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PageFeed::Ask(uint64_t after, std::function<void(Pointer)> done) {
  Pointer fresh;
  {
    std::lock_guard lock(mutex_);
    const bool young = latest_ != nullptr && latest_->sequence > after && Now() - latest_->made < kPeriod;
    if (!young) {
      askers_.push_back(std::move(done));
      changed_.notify_all();
      return;
    }
    fresh = latest_;
  }
  done(std::move(fresh));
}

bool PageFeed::Enter() {
  if (viewers_.fetch_add(1, std::memory_order_relaxed) < kMostViewers) return true;
  Leave();
  return false;
}

void PageFeed::Run() {
  Instant next_sample = Now();
  Instant next_build = next_sample;
  for (uint64_t sequence = 1;;) {
    std::vector<std::function<void(Pointer)>> askers;
    {
      std::unique_lock lock(mutex_);
      const auto build_due = [&] { return !askers_.empty() && Now() >= next_build; };
      const Instant wake = askers_.empty() ? next_sample : std::min(next_sample, next_build);
      changed_.wait_until(lock, ToTimePoint(wake), [&] { return stop_ || build_due(); });
      if (stop_) return;
      if (build_due()) askers.swap(askers_);
    }
    const Instant now = Now();
    if (now >= next_sample) {
      SampleTokens(now);
      next_sample = std::max(next_sample + kPeriod, now);
    }
    if (askers.empty()) continue;
    next_build = now + kPeriod;
    Pointer made = Build(sequence++);
    {
      std::lock_guard lock(mutex_);
      if (made == nullptr) {
        // No loop has answered since the start: the next round tries again.
        askers_.insert(askers_.end(), askers.begin(), askers.end());
        continue;
      }
      latest_ = made;
    }
    for (const auto& done : askers) done(made);
  }
}

void PageFeed::SampleTokens(Instant now) {
  TokenTotals totals;
  for (EventLoop* loop : loops_) {
    totals.active += loop->delivered().timely();
    totals.late += loop->delivered().late();
    totals.wasted += loop->delivered().wasted();
  }
  own_.tokens.Sample(totals, now);
}

void PageFeed::AddRequests(PageFacts& facts) {
  auto gathering = std::make_shared<Gathering>();
  gathering->left = loops_.size();
  for (EventLoop* loop : loops_) {
    loop->PostCensus(kMostRequests, [gathering, loop](LoopCensus part) {
      std::lock_guard lock(gathering->mutex);
      gathering->parts.push_back(std::move(part));
      gathering->fleet = loop->fleet();
      if (--gathering->left == 0) gathering->changed.notify_all();
    });
  }
  std::vector<LiveRequest> waiting;
  std::vector<LiveRequest> running;
  {
    std::unique_lock lock(gathering->mutex);
    gathering->changed.wait_for(lock, kLoopPatience, [&] { return gathering->left == 0; });
    for (LoopCensus& part : gathering->parts) {
      std::move(part.waiting.begin(), part.waiting.end(), std::back_inserter(waiting));
      std::move(part.running.begin(), part.running.end(), std::back_inserter(running));
    }
    if (gathering->fleet != nullptr) own_.fleet = gathering->fleet;
  }
  facts.fleet = own_.fleet;
  facts.running = OldestOf(std::move(running));
  for (LiveRequest& request : OldestOf(std::move(waiting))) {
    const std::optional<WaitView> now = edge_.core->WaitOf(request.id);
    facts.waiting.push_back({std::move(request), now});
  }
}

PageFeed::Pointer PageFeed::Build(uint64_t sequence) {
  PageFacts facts;
  facts.version = version_;
  facts.sequence = sequence;
  facts.unix_seconds = WallSeconds();
  facts.uptime = (Now() - started_).seconds();
  facts.draining = edge_.draining.load(std::memory_order_relaxed);
  facts.requests = edge_.requests.load(std::memory_order_relaxed);
  facts.connections = edge_.connections.load(std::memory_order_relaxed);
  facts.viewers = viewers_.load(std::memory_order_relaxed);
  facts.view = edge_.telemetry->Shown(edge_.core->View());
  facts.configuration = configuration_.facts();
  facts.tokens = own_.tokens;
  if (edge_.gpus != nullptr) facts.gpus = edge_.gpus->Report(Now());
  facts.wasted = edge_.telemetry->Wasted();
  AddRequests(facts);
  if (facts.fleet == nullptr) return nullptr;
  AddMemoryOutsidePools(facts.fleet->book, facts.gpus);
  if (edge_.log != nullptr) facts.decisions = edge_.log->Recent();
  if (comparison_) facts.comparison = comparison_();
  facts.shadow = ShadowNow();
  auto snapshot = std::make_shared<PageSnapshot>();
  snapshot->sequence = sequence;
  snapshot->made = Now();
  snapshot->fleet = FleetJson(facts);
  snapshot->requests = RequestsJson(facts);
  snapshot->tenants = TenantsJson(facts);
  snapshot->shadow = ShadowJson(facts);
  snapshot->event = absl::StrCat(kEventHead, "{\"fleet\":", snapshot->fleet, ",\"requests\":", snapshot->requests);
  absl::StrAppend(&snapshot->event, ",\"tenants\":", snapshot->tenants, ",\"shadow\":", snapshot->shadow, "}",
                  kEventEnd);
  return snapshot;
}

}  // namespace penstock
