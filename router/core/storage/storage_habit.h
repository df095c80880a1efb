// Learns whether the requests of a model wait for storage: by first tokens that come late while it is under pressure.
//
// A sample is the time of a first token beyond its forecast. Under pressure, three of four must be later than three of
// four without it, by kLeast. A few samples say nothing. One object per model. Observe is O(kWindow log kWindow) under
// pressure, else O(1).
#ifndef PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_HABIT_H_
#define PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_HABIT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace penstock {

class StorageHabit {
 public:
  static constexpr size_t kWindow = 16;
  static constexpr size_t kFewest = 8;
  static constexpr double kLeast = 0.05;  // Seconds.
  static constexpr double kCalm = 0.1;    // Pressure up to it counts as none.
  static constexpr double kPressed = 0.4;

  bool needs() const { return needs_; }

  // A first token came so many seconds after its forecast, on a node under such pressure.
  void Observe(double late, double pressure) {
    if (std::isnan(late)) return;
    if (pressure <= kCalm) return calm_.Add(late);
    if (pressure < kPressed) return;
    pressed_.Add(late);
    needs_ = calm_.count() >= kFewest && pressed_.count() >= kFewest && pressed_.At(0.25) > calm_.At(0.75) + kLeast;
  }

 private:
  // The newest samples.
  class Ring {
   public:
    void Add(double value) { values_[seen_++ % kWindow] = value; }
    size_t count() const { return std::min(seen_, kWindow); }
    // The sample below which such a part of them lies. Not empty.
    double At(double part) const {
      std::array<double, kWindow> sorted = values_;
      std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count()));
      return sorted[static_cast<size_t>(part * static_cast<double>(count() - 1))];
    }

   private:
    std::array<double, kWindow> values_{};
    size_t seen_ = 0;
  };

  Ring calm_;
  Ring pressed_;
  bool needs_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_STORAGE_STORAGE_HABIT_H_
