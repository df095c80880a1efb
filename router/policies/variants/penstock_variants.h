// Penstock's core under other options, by name:
//   penstock                        as it ships
//   penstock:without=PART[+PART]    an ablation; parts: forecast (present use instead), memory (no test), variance,
//                                   tenants, steps (no time guards), learning (step times stay at their prior), gpu
//                                   (no GPU-wide ledger), refusal, prefixes, density (plain deadline order)
//   penstock:true=WHAT[+WHAT]       told beforehand, simulation only: lengths, prompts, steps
//   present_use[:fill=F]            own fresh books under F (0.95) of capacity, with Penstock's guards
//   clairvoyant[:order=ORDER,memory=RULE]
//                                   knows everything; orders: fair, deadline, density, shortest; memory: exact,
//                                   forecast, present; without one, the best of them
#ifndef PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_VARIANTS_H_
#define PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_VARIANTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "router/core/contract/penstock_options.h"

namespace penstock {

struct PenstockVariant {
  PenstockOptions options;
  bool true_lengths = false;
  bool true_prompts = false;
  bool true_steps = false;
  // Nothing is told that a router could not know.
  bool honest() const { return !true_lengths && !true_prompts && !true_steps; }
};

// nullopt: the name is of another family. InvalidArgument: it is of this one, but its settings are not; the message
// says what was expected.
absl::StatusOr<std::optional<PenstockVariant>> ParsePenstockVariant(absl::string_view name);

// What `penstock:without=` can name; variants/penstock_policies.cc lists the same.
std::vector<std::string> PenstockParts();

// The orders that the yardstick tries, as names of variants.
const std::vector<std::string>& ClairvoyantOrders();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_VARIANTS_H_
