#include "router/live/core_host.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "backends/socket/loop_turns.h"
#include "base/clock.h"
#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// `action` is no RequestAction.
FleetAction FleetActionOf(const Action& action) {
  if (const Sleep* sleep = std::get_if<Sleep>(&action)) return *sleep;
  if (const SetShare* share = std::get_if<SetShare>(&action)) return *share;
  if (const LoadAdapter* load = std::get_if<LoadAdapter>(&action)) return *load;
  return std::get<Wake>(action);
}

bool Changes(const Event& event) {
  return std::holds_alternative<FleetChanged>(event) || std::holds_alternative<ReplicaHealth>(event) ||
         std::holds_alternative<ReplicaResidency>(event);
}

bool Changes(const Action& action) {
  return std::holds_alternative<Sleep>(action) || std::holds_alternative<Wake>(action);
}

PromptEstimate FixedPrompt(const CoreHost::Prompt& prompt) {
  PromptEstimate estimate;
  estimate.tokens = *prompt.fixed;
  if (prompt.max_context > Tokens(1)) estimate.tokens = std::min(estimate.tokens, prompt.max_context - Tokens(1));
  estimate.relative_sigma = 0;
  return estimate;
}

}  // namespace

CoreHost::CoreHost(std::unique_ptr<AdmissionCore> core, boost::asio::io_context& timer_loop,
                   std::vector<Mailbox*> mailboxes, Hooks hooks)
    : timer_loop_(timer_loop),
      mailboxes_(std::move(mailboxes)),
      hooks_(std::move(hooks)),
      timer_(timer_loop),
      core_(std::move(core)) {}

void CoreHost::Submit(const Event& event) {
  Duration spent;
  {
    std::lock_guard lock(mutex_);
    if (const auto* changed = std::get_if<FleetChanged>(&event)) estimator_.Forget(VacantOf(changed->fleet.models));
    spent = ApplyLocked(event);
  }
  Left(spent);
}

PromptEstimate CoreHost::SubmitArrival(RequestArrived arrival, const Prompt& prompt) {
  Duration spent;
  PromptEstimate estimate;
  {
    std::lock_guard lock(mutex_);
    estimate = prompt.fixed ? FixedPrompt(prompt) : estimator_.Estimate(arrival.model, prompt.all);
    arrival.prompt = estimate.tokens;
    arrival.prompt_sigma = estimate.relative_sigma;
    const bool over = prompt.max_context > Tokens(0) && !prompt.fixed && estimate.tokens > prompt.max_context;
    if (over && prompt.all.media.embedded > 0) {
      // Nobody knows the rows of a tensor: the engine judges its length.
      arrival.prompt = prompt.max_context - Tokens(1);
    } else if (over && !(prompt.all.text == prompt.largest)) {
      const PromptEstimate largest = estimator_.Estimate(arrival.model, {prompt.largest});
      arrival.prompt = std::max(largest.tokens, prompt.max_context - Tokens(1));
    }
    spent = ApplyLocked(std::move(arrival));
  }
  Left(spent);
  return estimate;
}

PromptEstimate CoreHost::EstimateOf(ModelId model, const InputCounts& input) const {
  std::lock_guard lock(mutex_);
  return estimator_.Estimate(model, input);
}

void CoreHost::SubmitClosed(const RequestClosed& closed, ModelId model, const InputCounts* input) {
  Duration spent;
  {
    std::lock_guard lock(mutex_);
    if (input != nullptr && closed.prompt > Tokens(0)) estimator_.Observe(model, *input, closed.prompt);
    spent = ApplyLocked(closed);
  }
  Left(spent);
}

CoreView CoreHost::View() const {
  std::lock_guard lock(mutex_);
  return core_->View(Now());
}

std::optional<WaitView> CoreHost::WaitOf(RequestId request) const {
  std::lock_guard lock(mutex_);
  return core_->WaitOf(request);
}

MemoryWaits CoreHost::FindMemoryWaits() const {
  std::lock_guard lock(mutex_);
  return core_->FindMemoryWaits(Now());
}

std::optional<AllowanceView> CoreHost::AllowanceOf(TenantId tenant) const {
  std::lock_guard lock(mutex_);
  return core_->AllowanceOf(tenant, Now());
}

Duration CoreHost::ApplyLocked(const Event& event) {
  const Instant now = Now();
  actions_.clear();
  core_->Apply(event, now, actions_);
  const Duration spent = Now() - now;
  if (hooks_.record) hooks_.record(event, now, actions_);
  bool changes = Changes(event);
  for (const Action& action : actions_) {
    const std::optional<RequestAction> of_request = RequestActionOf(action);
    if (!of_request) {
      changes = changes || Changes(action);
      if (hooks_.on_fleet_action) hooks_.on_fleet_action(FleetActionOf(action));
      continue;
    }
    const size_t loop = LoopOf(RequestOf(*of_request));
    if (loop < mailboxes_.size()) mailboxes_[loop]->Push(*of_request);
  }
  if (changes) changes_.fetch_add(1, std::memory_order_release);
  const std::optional<Instant> next = core_->NextDeadline();
  if (next && *next < armed_) {
    armed_ = *next;
    boost::asio::post(timer_loop_, [this] { ArmTimer(); });
  }
  return spent;
}

void CoreHost::Left(Duration spent) {
  if (Mailbox* own = Mailbox::OfThisThread()) own->Drain();
  if (hooks_.on_decision) hooks_.on_decision(spent);
}

void CoreHost::ArmTimer() {
  Instant at;
  {
    std::lock_guard lock(mutex_);
    at = armed_;
  }
  if (timer_stopped_ || at == Instant::Never()) return;
  timer_.expires_at(ToTimePoint(at));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) OnTimer();
  });
}

void CoreHost::OnTimer() {
  const LoopTurns::Scope scope(LoopTurns::Of(timer_loop_));
  Duration spent;
  {
    std::lock_guard lock(mutex_);
    armed_ = Instant::Never();
    spent = ApplyLocked(TimerFired{});
  }
  Left(spent);
}

void CoreHost::StopTimer() {
  timer_stopped_ = true;
  timer_.cancel();
}

}  // namespace penstock
