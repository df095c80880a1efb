#include "backends/health/hang_watch.h"

namespace penstock {
namespace {

// Looks come with the polls of an engine, at most this far apart while the router runs.
constexpr Duration kLate = Duration::Seconds(10);
constexpr int64_t kDoubt = 4;

}  // namespace

Duration HangWatch::HangsFor(const Figures& figures, const Work& work, Duration least, Instant now) {
  const bool moved = figures != figures_;
  const bool late = now - looked_ > kLate;
  const bool judged = figures.tokens >= 0 && work.running > 0 && work.explained < Duration::Infinite();
  figures_ = figures;
  looked_ = now;
  if (moved || late || !judged) {
    alive_ = now;
    return Duration();
  }
  const Duration silence = now - alive_;
  if (silence <= least + work.explained * kDoubt) return Duration();
  alive_ = now;
  return silence;
}

}  // namespace penstock
