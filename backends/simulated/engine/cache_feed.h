// The changes of an engine's prefix cache on their way to a publisher.
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_CACHE_FEED_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_CACHE_FEED_H_

#include <functional>
#include <utility>

#include "backends/simulated/machine/cache_change.h"

namespace penstock::simulated {

struct CacheFeed {
  CacheJournal journal;                              // Since the last step.
  std::function<void(const CacheJournal&)> publish;  // Called after the step that made them; empty: they are dropped.

  void Publish() {
    if (publish && !journal.empty()) publish(journal);
    journal.clear();
  }
  void Restarted() {
    journal = {{CacheChange::Kind::kCleared, 0, std::nullopt, ""}};
    Publish();
  }
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_CACHE_FEED_H_
