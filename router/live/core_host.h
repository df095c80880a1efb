// Owns the decision core of a live router and lets every loop call it.
//
// One short mutex guards the core, the prompt estimator and the order of actions. For each event, the host takes the
// mutex and reads the monotonic clock inside, so time never goes back. The core applies the event. Its actions go into
// the mailboxes of the loops that serve their requests, before the mutex is left. So actions arrive in decision order.
// A lock was preferred to an owner thread: it costs a request no wake-up, and an Apply takes microseconds.
// One timer, on the loop given at construction, fires for NextDeadline. Thread-safe.
#ifndef PENSTOCK_ROUTER_LIVE_CORE_HOST_H_
#define PENSTOCK_ROUTER_LIVE_CORE_HOST_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "kvmodel/prompt/input_estimate.h"
#include "router/core/contract/admission_core.h"
#include "router/live/mailbox.h"

namespace penstock {

// A request id names the loop that serves it, so actions find their way without a table.
inline constexpr int kLoopBits = 8;
inline constexpr size_t kMaxLoops = size_t{1} << kLoopBits;
constexpr RequestId MakeRequestId(uint64_t number, size_t loop) { return RequestId((number << kLoopBits) | loop); }
constexpr size_t LoopOf(RequestId id) { return id.value() & (kMaxLoops - 1); }

// An order to a replica.
using FleetAction = std::variant<Sleep, Wake, SetShare, LoadAdapter>;

class CoreHost {
 public:
  // Called inside the core for every event; must be quick.
  using Recorder = std::function<void(const Event&, Instant, const std::vector<Action>&)>;
  struct Hooks {
    Recorder record;                                          // May be null.
    std::function<void(const FleetAction&)> on_fleet_action;  // As above; may be null, and the action is then lost.
    std::function<void(Duration)> on_decision;  // Time spent in Apply; may be null. Called outside the lock.
  };

  CoreHost(std::unique_ptr<AdmissionCore> core, boost::asio::io_context& timer_loop, std::vector<Mailbox*> mailboxes,
           Hooks hooks);

  void Submit(const Event& event);

  // The facts about a prompt when its request arrives.
  struct Prompt {
    InputCounts all;        // All prompts of the request.
    TextCounts largest;     // The text of the largest prompt.
    Tokens max_context{0};  // The model's; 0: unknown. A list of short prompts is never "over the context".
    // Taken for the prompt instead of an estimate, and never "over the context".
    std::optional<Tokens> fixed = std::nullopt;
  };
  // Estimates the prompt, fills it into the event and submits that.
  PromptEstimate SubmitArrival(RequestArrived arrival, const Prompt& prompt);
  // The estimate of a prompt that asks for nothing.
  PromptEstimate EstimateOf(ModelId model, const InputCounts& input) const;
  // Closes a request and learns from the engine's prompt count (`input` null: nothing to learn).
  void SubmitClosed(const RequestClosed& closed, ModelId model, const InputCounts* input);

  // Grows when the fleet, the health or the residency of a replica may be another one than before. Takes no lock.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  CoreView View() const;
  std::optional<WaitView> WaitOf(RequestId request) const;
  // The demand that memory holds back now.
  MemoryWaits FindMemoryWaits() const;
  // The rest of a tenant's limits; nullopt where it has none.
  std::optional<AllowanceView> AllowanceOf(TenantId tenant) const;
  // The timer's loop only: cancels the timer, for good.
  void StopTimer();

 private:
  Duration ApplyLocked(const Event& event);
  void Left(Duration spent);
  void ArmTimer();
  void OnTimer();

  boost::asio::io_context& timer_loop_;
  const std::vector<Mailbox*> mailboxes_;
  const Hooks hooks_;
  boost::asio::steady_timer timer_;
  bool timer_stopped_ = false;
  std::atomic<uint64_t> changes_{1};

  // Guards everything below. (The packaged absl::Mutex is opaque to the thread sanitizer.)
  mutable std::mutex mutex_;
  const std::unique_ptr<AdmissionCore> core_;
  InputEstimator estimator_;
  std::vector<Action> actions_;
  Instant armed_ = Instant::Never();
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_CORE_HOST_H_
