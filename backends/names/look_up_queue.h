// Decides which names are looked up at the same time. Pure; time is an argument.
//
// A look-up holds a thread and a socket until the system ends it, and a silent name server makes that ten seconds. So
// the look-ups are bounded, and names that were slow the last time leave places for the others. Not thread-safe.
#ifndef PENSTOCK_BACKENDS_NAMES_LOOK_UP_QUEUE_H_
#define PENSTOCK_BACKENDS_NAMES_LOOK_UP_QUEUE_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/units.h"

namespace penstock {

class LookUpQueue {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostSlow = 48;  // Of these, names that were slow the last time.
  static constexpr Duration kSlow = Duration::Seconds(1);

  // The name neither waits nor runs.
  void Add(const std::string& name);
  // The names whose look-ups begin now.
  std::vector<std::string> Begin();
  // A look-up that began has ended.
  void End(const std::string& name, Duration took);

 private:
  std::deque<std::string> quick_;  // Those that wait, oldest first.
  std::deque<std::string> slow_;
  absl::flat_hash_set<std::string> were_slow_;
  absl::flat_hash_set<std::string> slow_running_;
  size_t running_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NAMES_LOOK_UP_QUEUE_H_
