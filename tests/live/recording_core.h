// A decision core that answers as a test tells it to, and records its events and their times.
#ifndef PENSTOCK_TESTS_LIVE_RECORDING_CORE_H_
#define PENSTOCK_TESTS_LIVE_RECORDING_CORE_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "router/core/contract/admission_core.h"

namespace penstock {

// Outlives the core. CoreHost calls the core under its lock; a test reads the record when no other thread is at work.
struct CoreRecord {
  std::vector<std::pair<Event, Instant>> events;
  // The actions for an event; null: none.
  std::function<std::vector<Action>(const Event&)> answer;
  std::optional<Instant> next_deadline;

  template <typename Kind>
  std::vector<Kind> Of() const {
    std::vector<Kind> found;
    for (const auto& [event, when] : events) {
      if (const Kind* one = std::get_if<Kind>(&event)) found.push_back(*one);
    }
    return found;
  }
};

class RecordingCore final : public AdmissionCore {
 public:
  explicit RecordingCore(CoreRecord& record) : record_(record) {}

  void Apply(const Event& event, Instant now, std::vector<Action>& actions) override {
    record_.events.emplace_back(event, now);
    if (std::holds_alternative<TimerFired>(event)) record_.next_deadline.reset();
    if (record_.answer) actions = record_.answer(event);
  }
  std::optional<Instant> NextDeadline() const override { return record_.next_deadline; }
  CoreView View(Instant) const override { return CoreView(); }
  std::optional<WaitView> WaitOf(RequestId) const override { return std::nullopt; }

 private:
  CoreRecord& record_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_LIVE_RECORDING_CORE_H_
