// A router whose configuration changes at random while requests run: the fleet book and the decision core together, as
// the control loop drives them.
//
// Requests that a reload caught hold their places. After each event the promises below are checked. The first broken
// one is stored, and no event reaches the core from then on. Not thread-safe.
#ifndef PENSTOCK_TESTS_APP_RELOADS_RELOAD_WORLD_H_
#define PENSTOCK_TESTS_APP_RELOADS_RELOAD_WORLD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/core/penstock_core.h"
#include "tests/app/reloads/drawn_engines.h"
#include "tests/app/reloads/reloaded_fleet.h"
#include "tests/core/choices.h"

namespace penstock::testing {

class ReloadWorld {
 public:
  explicit ReloadWorld(Choices& choices);

  // One thing happens.
  void Step();
  // A last reload gives every model a replica; what is open must end, and nothing may be left of it.
  void Calm();

  // Empty while all promises hold.
  const std::string& broken() const { return broken_; }
  // The last events, and the newest configuration.
  std::string History() const;
  struct Counts {
    int64_t arrivals = 0, forwards = 0, paired = 0, orders = 0;
  };
  const Counts& counts() const { return counts_; }
  const ReloadedFleet& fleet() const { return fleet_; }

 private:
  enum class Phase : uint8_t { kWaiting, kForwarded, kAborting };
  struct Open {
    RequestArrived arrived;
    uint64_t view = 0;  // That of its arrival, which it keeps until its end.
    Phase phase = Phase::kWaiting;
    ReplicaId replica;
    bool in_prefill = false;  // Its first stage runs.
    int64_t generated = 0;
  };

  void PlacesLeave();
  void Arrive();
  void TokensCome();
  void RequestEnds();
  void RequestMoves();
  void PrefillEnds();
  void PassTime();

  void FireTimers(Instant until);
  void Publish();
  void Send(const Event& event);
  void Send(const std::vector<Event>& events);
  void Take(const Action& action);
  void TakeForward(const Forward& forward);
  void CheckBooks();
  void Close(RequestId id, Outcome outcome);
  void Expect(bool holds, const std::string& promise);
  void Note(std::string line);

  Choices& choices_;
  const PenstockCore* inner_ = nullptr;  // Of core_, behind its gate.
  const std::unique_ptr<AdmissionCore> core_;
  ReloadedFleet fleet_;
  DrawnEngines engines_;
  std::map<RequestId, Open> open_;
  uint64_t next_request_ = 1;
  Instant now_ = Instant::FromSeconds(100);
  Counts counts_;
  std::string broken_;
  std::deque<std::string> history_;
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_APP_RELOADS_RELOAD_WORLD_H_
