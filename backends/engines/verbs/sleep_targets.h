// The level of an engine's sleep as far as it is known, and the target of each of its verbs.
//
// A wake must know the level: an engine whose weights were dropped has to read them again. The deepest level that
// speaks for a sleep counts, for a wake by it is right after the other level too. Invariant: an awake engine has no
// level. Owned by Sleeper; a value.
#ifndef PENSTOCK_BACKENDS_ENGINES_VERBS_SLEEP_TARGETS_H_
#define PENSTOCK_BACKENDS_ENGINES_VERBS_SLEEP_TARGETS_H_

#include <algorithm>
#include <utility>

#include "backends/engines/contract/sleep_verbs.h"
#include "base/residency.h"

namespace penstock {

class SleepTargets {
 public:
  // `target` has the level of a sleep that no order names, and of a wake where nobody knows the level.
  void SetEngine(SleepTarget target) { target_ = std::move(target); }
  // The core orders a sleep at this level; kUnsaid: at that of the configuration.
  void Order(SleepLevel level) { ordered_ = level; }
  // The metrics of the engine tell the level; kUnsaid: they do not, or it is awake.
  void Report(SleepLevel level) { reported_ = level; }
  void Awake() { slept_ = told_ = SleepLevel::kUnsaid; }

  // The ordered sleep begins.
  SleepTarget Sleep() {
    SleepTarget target = target_;
    if (ordered_ != SleepLevel::kUnsaid) target.level = NumberOf(ordered_);
    slept_ = target.level > 1 ? SleepLevel::kDisk : SleepLevel::kHost;
    return target;
  }
  SleepTarget Wake() const {
    SleepTarget target = target_;
    if (known() != SleepLevel::kUnsaid) target.level = NumberOf(known());
    return target;
  }
  const SleepTarget& engine() const { return target_; }
  // The level of a sleeping engine.
  SleepLevel known() const { return std::max(slept_, reported_); }
  // The same, for the core. `news`: it knows another one.
  SleepLevel Tell() { return told_ = known(); }
  bool news() const { return told_ == SleepLevel::kUnsaid && known() != told_; }

 private:
  static int NumberOf(SleepLevel level) { return level == SleepLevel::kDisk ? 2 : 1; }

  SleepTarget target_;
  SleepLevel ordered_ = SleepLevel::kUnsaid;
  SleepLevel slept_ = SleepLevel::kUnsaid;
  SleepLevel reported_ = SleepLevel::kUnsaid;
  SleepLevel told_ = SleepLevel::kUnsaid;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_VERBS_SLEEP_TARGETS_H_
