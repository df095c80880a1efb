// The pace of the streams of one replica: their rate now, and the rate to which it returns.
//
// A burst of prompts or of streams slows a replica for seconds. The steps of the last minute tell the rate behind that.
// The rate now fades into the usual one with a time constant of kReturn. Pure; O(1).
#ifndef PENSTOCK_KVMODEL_DECODE_PACE_H_
#define PENSTOCK_KVMODEL_DECODE_PACE_H_

#include <algorithm>
#include <cmath>

namespace penstock {

// Tokens per second of one stream.
struct DecodePace {
  // Seconds. Bursts of the traces last so long.
  static constexpr double kReturn = 3;

  double now = 1;
  double usual = 1;

  static DecodePace Steady(double tokens_per_s) { return {tokens_per_s, tokens_per_s}; }

  // Tokens from `from` to `to` seconds ahead. The integral of usual + (now - usual) exp(-t / kReturn).
  double TokensIn(double from, double to) const { return TokensIn(from, to, Fade(from), Fade(to)); }
  // The same with the fades of both times at hand.
  double TokensIn(double from, double to, double fade_from, double fade_to) const {
    return usual * (to - from) + (now - usual) * kReturn * (fade_from - fade_to);
  }
  // The part of the present difference that is left after so many seconds.
  static double Fade(double seconds) { return std::exp(-seconds / kReturn); }

  bool operator==(const DecodePace&) const = default;
};

// Learns the pace of a replica from its steps.
class StepPace {
 public:
  // `count` steps took `step` seconds each, where a step without prefill takes `decode` seconds.
  void Observe(double count, double step, double decode) {
    const double near = std::pow(1 - 1 / kNear, count);
    excess_ = near * excess_ + (1 - near) * (step - decode);
    const double far = std::pow(1 - 1 / kFar, count);
    usual_ = far * usual_ + (1 - far) * step;
    seen_ = far * seen_ + (1 - far);
  }

  // The pace where a step without prefill takes `decode` seconds now.
  DecodePace Of(double decode) const {
    const double least = std::max(kShortest, decode / 2);
    const double now = std::max(least, decode + excess_);
    // The usual step is unknown as far as steps are missing.
    const double usual = usual_ + (1 - seen_) * now;
    return {1 / now, 1 / std::max(least, usual)};
  }

 private:
  // Steps over which their excess over a decode step is averaged. A few seconds at steps of 20 to 50 ms, so the pace
  // now follows the prefill of the last prompts.
  static constexpr double kNear = 50;
  // Steps over which whole steps are averaged: half a minute at steps of 50 ms.
  static constexpr double kFar = 600;
  // Seconds. A stream is never forecast slower than two decode steps per token, which this keeps finite.
  static constexpr double kShortest = 1e-6;

  double excess_ = 0;  // Seconds of observed steps over decode steps, of late: prefill, mostly.
  double usual_ = 0;   // Sum of the weighted seconds of whole steps.
  double seen_ = 0;    // Sum of their weights, at most 1.
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_DECODE_PACE_H_
