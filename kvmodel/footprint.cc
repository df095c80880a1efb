#include "kvmodel/footprint.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Blocks that the windowed layers hold at most; unbounded without a window.
int64_t WindowBlocks(const Footprint& footprint) {
  const Tokens span = footprint.window - Tokens(1) + footprint.in_flight;
  return BlocksToHold(span, footprint.block).value() + 1;
}

double OfBlocks(const Footprint& footprint, int64_t blocks) {
  const double per_block = footprint.block.AsDouble();
  double amount = footprint.constant + footprint.full_per_token * static_cast<double>(blocks) * per_block;
  if (footprint.window > Tokens(0)) {
    const int64_t windowed = std::min(blocks, WindowBlocks(footprint));
    amount += footprint.windowed_per_token * static_cast<double>(windowed) * per_block;
  }
  return std::ceil(amount);
}

// Most blocks within `amount` by the linear formula, which the caller corrects for rounding.
double LinearBlocks(const Footprint& footprint, double amount) {
  const double per_block = footprint.block.AsDouble();
  const bool windowed = footprint.window > Tokens(0) && footprint.windowed_per_token > 0;
  const double free = amount - footprint.constant;
  const double growing = footprint.full_per_token + (windowed ? footprint.windowed_per_token : 0);
  const double unbounded = Footprint::kUnboundedTokens.AsDouble() / per_block;
  const double early = growing > 0 ? free / (growing * per_block) : unbounded;
  if (!windowed || early <= static_cast<double>(WindowBlocks(footprint))) return std::min(early, unbounded);
  if (footprint.full_per_token <= 0) return unbounded;
  const double full_window = footprint.windowed_per_token * static_cast<double>(WindowBlocks(footprint)) * per_block;
  return std::min((free - full_window) / (footprint.full_per_token * per_block), unbounded);
}

}  // namespace

Amount Footprint::Of(Tokens tokens) const {
  if (tokens <= Tokens(0)) return Amount(0);
  return Amount(static_cast<int64_t>(OfBlocks(*this, BlocksToHold(tokens, block).value())));
}

Tokens Footprint::TokensWithin(Amount amount) const {
  const double available = amount.AsDouble();
  if (OfBlocks(*this, 1) > available) return Tokens(0);
  if (OfBlocks(*this, kUnboundedTokens.value() / block.value()) <= available) return kUnboundedTokens;
  int64_t blocks = std::max<int64_t>(1, static_cast<int64_t>(LinearBlocks(*this, available)));
  while (blocks > 1 && OfBlocks(*this, blocks) > available) --blocks;
  while (OfBlocks(*this, blocks + 1) <= available) ++blocks;
  return Tokens(blocks * block.value());
}

}  // namespace penstock
