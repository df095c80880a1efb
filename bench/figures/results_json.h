// The figures of a run as JSON values, for reports that add to them.
#ifndef PENSTOCK_BENCH_FIGURES_RESULTS_JSON_H_
#define PENSTOCK_BENCH_FIGURES_RESULTS_JSON_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/figures/results.h"

namespace penstock::bench {

// Both take time in proportion to the groups.
nlohmann::ordered_json ResultsAsJson(const Results& results);
// The object that a `per_*` field holds.
nlohmann::ordered_json GroupsAsJson(const std::map<std::string, GroupResults>& groups);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_FIGURES_RESULTS_JSON_H_
