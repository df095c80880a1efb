// KV memory of one request as a function of its tokens, on one replica.
//
// A Footprint is the arithmetic that remains of a ModelShape once tensor parallelism, cache dtype and block size are
// fixed. A full-attention part grows for ever, windowed parts stop at their window, and a part is constant (recurrent
// state). Where the shape is unknown it counts tokens, in blocks of the engine. Small value, no heap.
#ifndef PENSTOCK_KVMODEL_FOOTPRINT_H_
#define PENSTOCK_KVMODEL_FOOTPRINT_H_

#include "base/units.h"

namespace penstock {

struct Footprint {
  double full_per_token = 1;      // Amount per token of all layers with full attention (or latent caches).
  double windowed_per_token = 0;  // Amount per token of all sliding-window layers, until the window is full.
  Tokens window{0};               // Tokens after which the windowed part stops growing; 0: no windowed part.
  double constant = 0;            // Amount per sequence that does not depend on tokens.
  Tokens block{1};                // Allocation granule, at least 1.
  // Tokens of one sequence that one step computes, at least 1. With 1 the windowed part is that of decode. A chunk of
  // prefill in flight holds up to its own length more, until the step's end.
  Tokens in_flight{1};

  // Counts tokens, in blocks of `block`: for pools whose bytes are unknown.
  static constexpr Footprint InTokens(Tokens block) { return Footprint{1, 0, Tokens(0), 0, block, Tokens(1)}; }

  // Memory of one sequence holding `tokens`, blocks rounded up. Zero tokens hold nothing. Windowed layers hold at most
  // ceil((window - 1 + in_flight) / block) + 1 blocks: a window that is not aligned touches one block more.
  Amount Of(Tokens tokens) const;

  // Expected memory at a fractional token count. It adds the mean waste of (block - 1)/2 tokens instead of rounding, as
  // in a sum over many requests. Used by the growth forecast; costs a few flops.
  double Expected(double tokens) const {
    if (!(tokens > 0)) return 0;
    const double granule = block.AsDouble();
    const double held = tokens + (granule - 1) / 2;
    double amount = constant + full_per_token * held;
    if (window > Tokens(0)) {
      // Blocks that a window at a random offset touches, in tokens.
      const double most = window.AsDouble() + in_flight.AsDouble() - 2 + granule;
      amount += windowed_per_token * (held < most ? held : most);
    }
    return amount;
  }

  // Memory that leading tokens take once for several sequences that begin alike: that of the layers with full
  // attention. Windowed layers hold the end of each sequence, so they are not shared.
  double Shared(double tokens) const { return full_per_token * tokens; }

  // The most tokens one sequence may hold within `amount`; kUnboundedTokens where memory does not depend on tokens.
  Tokens TokensWithin(Amount amount) const;
  static constexpr Tokens kUnboundedTokens{int64_t{1} << 50};

  bool operator==(const Footprint&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_FOOTPRINT_H_
