// The facts of a running engine after another reading of its pages. Pure.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_RENEWED_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_RENEWED_H_

#include <vector>

#include "backends/engines/contract/discovery.h"

namespace penstock {

// `known` with what `found` says. A figure that `found` lacks stays as it was, and so does a list of models that is
// empty. Models that stay keep their order: the first one is the engine's base, whatever comes or goes behind it. An
// engine of another kind, or with none of the known models, is another engine: its facts count as they are.
Discovery Renewed(const Discovery& known, Discovery found);

// The models of `known` that `found` lacks, where it is the same engine. None where it is another one.
std::vector<ServedModel> Missing(const Discovery& known, const Discovery& found);

// True: the same engine says that it holds less than `before`: a smaller pool, context or sequence. Figures that are
// not reported count as equal.
bool HoldsLess(const Discovery& now, const Discovery& before);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_RENEWED_H_
