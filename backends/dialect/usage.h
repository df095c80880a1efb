// The token counts of one answer, as the engine reports them.
#ifndef PENSTOCK_BACKENDS_DIALECT_USAGE_H_
#define PENSTOCK_BACKENDS_DIALECT_USAGE_H_

#include "base/units.h"

namespace penstock {

struct Usage {
  Tokens prompt{0};
  Tokens output{0};
  Tokens cached{-1};  // Of the prompt, found in the engine's prefix cache; negative: not reported.
  bool operator==(const Usage&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_USAGE_H_
