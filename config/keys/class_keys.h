// The keys of a class of requests.
#ifndef PENSTOCK_CONFIG_KEYS_CLASS_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_CLASS_KEYS_H_

#include "config/keys/key.h"
#include "config/values/config_values.h"

namespace penstock {

inline SectionDoc DocOf(const ClassConfig&) { return {"class", "Goals of a class of requests."}; }

// A class of a file refuses late requests unless it says otherwise.
template <>
inline ClassConfig DefaultOf<ClassConfig>() {
  ClassConfig each;
  each.refuse_late = true;
  return each;
}

inline constexpr TimeForm kGoal{Duration::Milliseconds(1), Duration::Seconds(30 * 86'400.0)};

template <Of<ClassConfig> Section, class Visitor>
void VisitFields(Section& each, Visitor& visit) {
  visit({"ttft",
         "Goal for the time to first token. A class that is not built in needs it, and ranks before those with a "
         "longer goal."},
        each.ttft, kGoal);
  visit({"tpot", "Goal for the time per output token. A class that is not built in needs it."}, each.tpot, kGoal);
  visit({"queue", "Longest wait in the queue. A class that is not built in needs it."}, each.queue,
        TimeForm{Duration(), kGoal.highest});
  visit({"default", "The class of requests that name none; at most one class. Left out everywhere: standard."},
        each.is_default, FlagForm{});
  visit({"evictable",
         "Running requests of the class make room for classes above it; at most twice each. Once it gives tokens, only "
         "a request that could be continued does so: none with `tools`, `logprobs`, `n` above 1, `seed` or a fixed "
         "format. Requests for token ids, completions without a limit, whole messages and responses run to their end, "
         "too."},
        each.evictable, FlagForm{});
  visit({"parking",
         "A stream that is far ahead of its due times may lend its memory to others, and goes on in time. Without "
         "`refuse_late` no stream does."},
        each.parking, FlagForm{});
  visit({"even_delivery",
         "A stream reaches its client at one token per `tpot` from its first token on. Tokens that come sooner wait in "
         "the router, so a client does not see that its stream is parked."},
        each.even_delivery, FlagForm{});
  visit({"refuse_late",
         "Refuse a request as soon as it cannot be on time any more. One whose TTFT goal an idle fleet could not meet "
         "either is served when room is left."},
        each.refuse_late, FlagForm{});
  visit({"share",
         "Guaranteed share: of the prompt tokens that a model's more urgent classes dispatch while the class waits, it "
         "may dispatch so many before them."},
        each.share, NumberForm{0, 1});
  visit(
      {"promote_after", "A request that waits so long goes before the more urgent classes. Left out: half of `queue`."},
      each.promote_after, kGoal);
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_CLASS_KEYS_H_
