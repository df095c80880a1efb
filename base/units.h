// Units of the domain: tokens, blocks, bytes, instants and durations are different types.
//
// None converts to another or back to a number implicitly; every conversion has a name. All are values of one
// machine word, cheap to copy, compare and hash. Time is an argument everywhere in kvmodel and router/core:
// nothing here reads a clock.
#ifndef PENSTOCK_BASE_UNITS_H_
#define PENSTOCK_BASE_UNITS_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <utility>

namespace penstock {

// A whole, signed number of things of one kind. Differences may be negative.
template <class Tag>
class Count {
 public:
  constexpr Count() = default;
  constexpr explicit Count(int64_t value) : value_(value) {}

  constexpr int64_t value() const { return value_; }
  constexpr double AsDouble() const { return static_cast<double>(value_); }

  constexpr auto operator<=>(const Count&) const = default;
  constexpr Count operator-() const { return Count(-value_); }
  constexpr Count& operator+=(Count other) { return value_ += other.value_, *this; }
  constexpr Count& operator-=(Count other) { return value_ -= other.value_, *this; }
  friend constexpr Count operator+(Count a, Count b) { return Count(a.value_ + b.value_); }
  friend constexpr Count operator-(Count a, Count b) { return Count(a.value_ - b.value_); }
  friend constexpr Count operator*(Count a, int64_t factor) { return Count(a.value_ * factor); }
  template <class H>
  friend H AbslHashValue(H state, Count count) {
    return H::combine(std::move(state), count.value_);
  }

 private:
  int64_t value_ = 0;
};

using Tokens = Count<struct TokensTag>;
using Blocks = Count<struct BlocksTag>;
using Bytes = Count<struct BytesTag>;

// KV memory in the unit of its pool: bytes where the model's shape is known, tokens where it is not.
using Amount = Count<struct AmountTag>;

// Rounds up: a started block is a spent block. `per_block` is at least one token.
constexpr Blocks BlocksToHold(Tokens held, Tokens per_block) {
  return Blocks((held.value() + per_block.value() - 1) / per_block.value());
}
static_assert(BlocksToHold(Tokens(17), Tokens(16)) == Blocks(2));
static_assert(BlocksToHold(Tokens(16), Tokens(16)) == Blocks(1));
static_assert(BlocksToHold(Tokens(0), Tokens(16)) == Blocks(0));

// A span of time in nanoseconds; may be negative. About 292 years either way.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration Nanoseconds(int64_t n) { return Duration(n); }
  static constexpr Duration Microseconds(int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration Milliseconds(int64_t n) { return Duration(n * 1'000'000); }
  // Saturates instead of overflowing; NaN becomes zero.
  static constexpr Duration Seconds(double s) {
    if (s != s) return Duration(0);
    if (s >= 9.2e9) return Infinite();
    if (s <= -9.2e9) return -Infinite();
    return Duration(static_cast<int64_t>(s * 1e9 + (s < 0 ? -0.5 : 0.5)));
  }
  static constexpr Duration Infinite() { return Duration(std::numeric_limits<int64_t>::max() / 4); }

  constexpr int64_t nanoseconds() const { return ns_; }
  constexpr double seconds() const { return static_cast<double>(ns_) * 1e-9; }
  constexpr double milliseconds() const { return static_cast<double>(ns_) * 1e-6; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator-() const { return Duration(-ns_); }
  constexpr Duration& operator+=(Duration d) { return ns_ += d.ns_, *this; }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ns_ + b.ns_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  // Saturates at Infinite(): the longest promise per token times the longest answer is no int64_t.
  friend constexpr Duration operator*(Duration a, int64_t k) {
    const int64_t most = Infinite().ns_;
    int64_t product = 0;
    if (__builtin_mul_overflow(a.ns_, k, &product)) product = (a.ns_ < 0) == (k < 0) ? most : -most;
    return Duration(std::clamp(product, -most, most));
  }

 private:
  constexpr explicit Duration(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

// A point on the monotonic clock of one process or one simulation. Only differences carry meaning.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant FromNanoseconds(int64_t ns) { return Instant(ns); }
  static constexpr Instant FromSeconds(double s) { return Instant(Duration::Seconds(s).nanoseconds()); }
  // Later than every instant that an event can carry.
  static constexpr Instant Never() { return Instant(std::numeric_limits<int64_t>::max() / 2); }

  constexpr int64_t nanoseconds() const { return ns_; }
  constexpr double seconds() const { return static_cast<double>(ns_) * 1e-9; }

  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return Instant(t.ns_ + d.nanoseconds()); }
  friend constexpr Instant operator-(Instant t, Duration d) { return Instant(t.ns_ - d.nanoseconds()); }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration::Nanoseconds(a.ns_ - b.ns_); }

 private:
  constexpr explicit Instant(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_UNITS_H_
