// Penstock's core with other rules or another input, by name:
//   penstock                        as it ships
//   penstock:without=PART[+PART]    an ablation; parts: forecast (present use instead), memory (no test), variance,
//                                   tenants, steps (no time guards), learning (step times stay at their prior), gpu
//                                   (no GPU-wide ledger), refusal, prefixes (hashes and hints), hashes (of prompt
//                                   blocks), hints (of sessions), price,
//                                   storage (no request needs it), declarations (needs of storage are learned only),
//                                   sharing (prompts of running requests have no memory in common), company (no request
//                                   waits for the prefill of another), density (plain deadline order), parking,
//                                   eviction, newcomers (evictable classes leave them no room), attention (each token
//                                   of a prompt takes the same time), early (no refusal before the last chance), grey
//                                   (no replica that is slower than its peers is derated), speculation (the tokens
//                                   of a step are not learned)
//   penstock:true=FACT[+FACT]       known beforehand, simulation only: lengths, prompts, steps
//   present_use[:fill=F]            own fresh books under F (0.95) of capacity, with Penstock's guards
//   informed[:order=ORDER,memory=RULE,more=PART[+PART]]
//                                   the same rules with all knowledge; orders: fair, deadline, density, shortest;
//                                   memory: exact, forecast, present; parts: parking (in every class), one-copy (of
//                                   the copies of a model on a time-sliced GPU, the first serves); without settings
//                                   the best of the orders, with `more=any` the best of all of them
//   clairvoyant                     another name of `informed`
#ifndef PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_VARIANTS_H_
#define PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_VARIANTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "router/core/contract/admission_core.h"

namespace penstock {

// The memory that a pool must have for one more request to enter.
enum class MemoryKind : uint8_t {
  kForecast,    // Mean + z sigma of the growth forecast, at its worst horizon.
  kPresentUse,  // The memory held now, prompts on their way included.
  kUnlimited,   // No test.
};

// In which order waiting requests of a class are tried.
enum class OrderKind : uint8_t {
  kFairDensity,   // FairDensityOrder (lane_order.h).
  kDeadline,      // Earliest first-token deadline: first come first served for equal goals.
  kDensity,       // Most output tokens per second of GPU time.
  kShortestWork,  // Least GPU time.
};

// The settings of a variant. The defaults are Penstock.
struct PenstockVariant {
  MemoryKind memory = MemoryKind::kForecast;
  double fill = 0.99;         // Share of a pool that the memory rule may fill.
  bool variance = true;       // False: z is 0.
  bool tenant_curves = true;  // False: one output curve per model and prompt bucket.
  bool output_levels = true;  // False: every request reads its tenant's detail.
  bool learned_steps = true;  // False: step times stay at their prior.
  bool time_guards = true;    // False: only batch rows and memory are tested.
  bool attention = true;      // False: the quadratic part of prefill is left out of step times.
  bool gpu_wide = true;       // False: every replica is taken to have its GPUs to itself, elastic pools in equal parts.
  bool refuse_late = true;    // False: a request waits until its class's queue time, however late its first token.
  bool early_refusal = true;  // False: a request is refused as late once its last chance has passed, never before.
  bool prefix_hashes = true;  // False: no block of a prompt is known.
  bool prices = true;         // False: no replica has a price.
  bool hints = true;          // False: the names of sessions tell nothing.
  bool storage = true;        // False: no request needs storage.
  bool declared = true;       // False: no client declares its need of storage.
  bool parking = true;        // False: no stream lends its memory.
  bool eviction = true;       // False: no class makes room for another.
  bool newcomers = true;      // False: evictable classes leave no room but one prompt at a time.
  bool first_prefill = true;  // False: no request waits for the prefill of another one that shares its prompt.
  bool grey = true;           // False: no replica is derated for its pace.
  bool speculation = true;    // False: a stream is taken to get one token in each step.
  bool reservations = true;   // False: no memory is reserved for a request that waits.
  bool best_effort = true;    // False: requests whose TTFT goal no server could make stand among the others.
  bool shared_prompts = true;  // False: each running request is taken to hold a copy of its prompt.
  OrderKind order = OrderKind::kFairDensity;
  // The whole output of a request, where it is known beforehand (simulation only).
  std::function<Tokens(RequestId)> output_of;
  bool park_all = false;    // True: streams of every class may lend their memory.
  bool one_copy = false;    // True: the first copy of a model on a time-sliced GPU serves, the others rest.
  bool true_growth = true;  // Known outputs bound the growth of pools too, not the order only.
  // Facts that the simulator gives to the core.
  bool true_lengths = false;
  bool true_prompts = false;
  bool true_steps = false;
};

// A core of the variant: PenstockCore with other rules, behind a filter of its input where the variant needs one. Its
// books are recounted after every so many events.
std::unique_ptr<AdmissionCore> MakePenstock(const PenstockVariant& variant, int64_t events_per_recount = 4096);

// nullopt: the name is of another family. InvalidArgument: it is of this one, but its settings are not; the message
// says what was expected.
absl::StatusOr<std::optional<PenstockVariant>> ParsePenstockVariant(absl::string_view name);

// The parts that `penstock:without=` can name; variants/penstock_policies.cc lists the same.
std::vector<std::string> PenstockParts();

// A yardstick: `informed` or `informed:more=any`, under either name. It stands for the best of several variants.
bool IsYardstick(absl::string_view name);

// The variants that a yardstick tries, by name. The second yardstick tries those of the first one too.
std::vector<std::string> YardstickVariants(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_VARIANTS_PENSTOCK_VARIANTS_H_
