// The work of prefill: tokens, and the pairs of tokens that attention multiplies.
//
// A chunk of p tokens behind h tokens of context has p^2 + 2ph pairs (each twice, as docs/step-time.md counts them).
// That is (h + p)^2 - h^2, so the pairs of chunks in a row are those of one chunk. The sum does not depend on the
// chunking. Tokens alone give no time: step times take a PrefillWork, so that no caller forgets the pairs. Blocks that
// an engine loads from the memory of its host take time in the same step and no computing. Values.
#ifndef PENSTOCK_KVMODEL_PREFILL_WORK_H_
#define PENSTOCK_KVMODEL_PREFILL_WORK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace penstock {

using TokenPairs = Count<struct TokenPairsTag>;

// Additive: the work of several chunks is the sum of their work.
struct PrefillWork {
  Tokens tokens{0};
  TokenPairs pairs{0};
  Duration load;  // For loading cached blocks from the host, on any GPU.

  constexpr PrefillWork& operator+=(const PrefillWork& other) {
    tokens += other.tokens;
    pairs += other.pairs;
    load += other.load;
    return *this;
  }
  constexpr PrefillWork& operator-=(const PrefillWork& other) {
    tokens -= other.tokens;
    pairs -= other.pairs;
    load = load - other.load;
    return *this;
  }
  friend constexpr PrefillWork operator+(PrefillWork a, const PrefillWork& b) { return a += b; }
  friend constexpr PrefillWork operator-(PrefillWork a, const PrefillWork& b) { return a -= b; }
  bool operator==(const PrefillWork&) const = default;
};

// Positions beyond this count no pairs: a square would not fit into 64 bits in the end. No context is that long.
inline constexpr int64_t kLastPairedPosition = int64_t{1} << 28;

// The work of the positions from `cached` up to `prompt`, in chunks of any sizes. cached <= prompt.
constexpr PrefillWork PrefillOf(Tokens cached, Tokens prompt) {
  const int64_t from = std::min(cached.value(), kLastPairedPosition);
  const int64_t to = std::min(prompt.value(), kLastPairedPosition);
  return {prompt - cached, TokenPairs((to - from) * (to + from)), Duration()};
}
static_assert(PrefillOf(Tokens(100), Tokens(300)).pairs == TokenPairs(200 * 200 + 2 * 200 * 100));
static_assert(PrefillOf(Tokens(0), Tokens(100)) + PrefillOf(Tokens(100), Tokens(300)) ==
              PrefillOf(Tokens(0), Tokens(300)));

// The same for a whole prompt of which an engine has leading tokens cached. It always computes one token or more.
constexpr PrefillWork UncachedPrefill(Tokens cached, Tokens prompt) {
  const Tokens length = std::max(Tokens(1), prompt);
  return PrefillOf(std::clamp(cached, Tokens(0), length - Tokens(1)), length);
}

// Time per unit of prefill work.
struct PrefillPrice {
  double per_token = 0;  // Seconds.
  double per_pair = 0;

  constexpr double Of(const PrefillWork& work) const {
    return per_token * work.tokens.AsDouble() + per_pair * work.pairs.AsDouble() + work.load.seconds();
  }
  // The leading tokens of a prompt that take so many seconds: the inverse of Of(PrefillOf(0, tokens)).
  double LeadingTokens(double seconds) const {
    if (!(seconds > 0)) return 0;
    // The positive root of per_pair x^2 + per_token x = seconds, in the form that also holds without pairs.
    const double root = std::sqrt(per_token * per_token + 4 * per_pair * seconds);
    return per_token + root > 0 ? 2 * seconds / (per_token + root) : 0;
  }
  bool operator==(const PrefillPrice&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_PREFILL_WORK_H_
