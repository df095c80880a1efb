// Decides which names are looked up at the same time. Pure; time is an argument.
//
// A look-up holds a thread and a socket until the system ends it, and a silent name server makes that ten seconds. So
// the look-ups are bounded. One that runs for longer than kSlow counts as hung. Young ones have places of their own, so
// names that hang delay the others by a second at most. The last places are for names that answered quickly the last
// time. Invariant: what is remembered of names is bounded too. Not thread-safe. Costs about a microsecond.
#ifndef PENSTOCK_BACKENDS_NAMES_LOOK_UP_QUEUE_H_
#define PENSTOCK_BACKENDS_NAMES_LOOK_UP_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/units.h"

namespace penstock {

class LookUpQueue {
 public:
  static constexpr size_t kMost = 256;
  static constexpr size_t kMostYoung = 64;  // Of these, look-ups that run for less than kSlow.
  static constexpr size_t kMostSlow = 48;   // A name that was slow begins where fewer than these hang.
  static constexpr size_t kForKnown = 32;   // Places for names that answered quickly the last time.
  static constexpr size_t kMostKnown = 4096;
  static constexpr Duration kSlow = Duration::Seconds(1);

  // The name neither waits nor runs.
  void Add(const std::string& name);
  // The names whose look-ups begin now.
  std::vector<std::string> Begin(Instant now);
  // A look-up that began has ended.
  void End(const std::string& name, Instant now);
  // Names wait that may begin once a look-up counts as hung.
  bool WaitsForHung() const { return !Waiting(Kind::kQuick).empty() || !Waiting(Kind::kNew).empty(); }
  // Names whose last look-up is remembered.
  size_t known() const { return known_.size(); }

 private:
  enum class Kind : uint8_t { kQuick, kNew, kSlow };  // The last look-up decides.
  struct Running {
    Instant since;
    Kind kind = Kind::kNew;
  };

  std::deque<std::string>& Waiting(Kind kind) { return waiting_[static_cast<size_t>(kind)]; }
  const std::deque<std::string>& Waiting(Kind kind) const { return waiting_[static_cast<size_t>(kind)]; }
  void Remember(const std::string& name, bool slow);

  std::array<std::deque<std::string>, 3> waiting_;  // By kind, oldest first.
  absl::flat_hash_map<std::string, Running> running_;
  absl::flat_hash_map<std::string, bool> known_;  // True: it was slow.
  std::deque<std::string> order_;                 // The known names, the oldest first.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NAMES_LOOK_UP_QUEUE_H_
