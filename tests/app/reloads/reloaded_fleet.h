// The fleet book of a router that reloads, and the fleet that its core knows of it.
//
// The loops have each new description at once. The core learns of it later, but for its classes. A place is given again
// only once nothing names it: no request with an older view, and no order (router/live/fleet/departures.h). Each change
// returns the events that the core gets. Not thread-safe.
#ifndef PENSTOCK_TESTS_APP_RELOADS_RELOADED_FLEET_H_
#define PENSTOCK_TESTS_APP_RELOADS_RELOADED_FLEET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "router/core/contract/event.h"
#include "router/core/contract/view.h"
#include "router/fleet/fleet_book.h"
#include "tests/core/choices.h"

namespace penstock::testing {

class ReloadedFleet {
 public:
  explicit ReloadedFleet(Choices& choices);

  // A drawn configuration, or the answer of an engine.
  std::vector<Event> Change();
  // A configuration; a refused one changes nothing.
  std::vector<Event> Take(const std::string& text);
  // The core learns what it does not know yet.
  std::vector<Event> Publish();
  // Frees the places that nothing names, once the core knows the book. `oldest`: no request has an older view.
  std::vector<Event> Vacate(const CoreView& seen, uint64_t oldest, const std::function<bool(uint32_t)>& ordered);

  const FleetBook& book() const { return *book_; }
  // The fleet as the core knows it.
  const Fleet& told() const { return told_; }
  // The number of the newest view.
  uint64_t view() const { return view_; }
  // A replica of which both the book and the core know; nullopt where the drawn place has none.
  std::optional<ReplicaId> AnyLive();

  struct Counts {
    int64_t reloads = 0, refused = 0, vacated = 0;
  };
  const Counts& counts() const { return counts_; }
  // The newest configuration that was taken.
  const std::string& text() const { return text_; }

 private:
  // The newest view that names each place of a kind.
  struct Named {
    std::vector<uint64_t> last;
    void Note(const std::vector<bool>& named, uint64_t view);
    // No view from `oldest` on names the place, nor is the first one without it.
    bool IsQuiet(uint32_t place, uint64_t oldest) const;
    std::vector<uint32_t> Quiet(const std::vector<bool>& named, uint64_t oldest) const;
  };

  std::vector<Event> Discover();
  // The loops get the book as it is.
  std::vector<Event> View();

  Choices& choices_;
  std::optional<FleetBook> book_;
  Fleet told_;
  Vacated vacated_;  // Not yet offered.
  Named replicas_, models_, classes_;
  uint64_t view_ = 0;
  Counts counts_;
  std::string text_;
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_APP_RELOADS_RELOADED_FLEET_H_
