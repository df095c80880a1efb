#include "backends/engines/contract/renewed.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace penstock {
namespace {

template <class Fact>
void KeepKnown(const Fact& known, Fact& found) {
  if (found == Fact{}) found = known;
}

using Places = absl::flat_hash_map<std::string, size_t>;

Places PlacesOf(const std::vector<ServedModel>& models) {
  Places places;
  for (size_t i = 0; i < models.size(); ++i) places.try_emplace(models[i].name, i);
  return places;
}

// Sets contexts that are not reported any more, and the order of the known list. False: no model is known.
bool RenewModels(const std::vector<ServedModel>& known, std::vector<ServedModel>& found) {
  const Places places = PlacesOf(known);
  const auto place = [&](const ServedModel& model) {
    const auto at = places.find(model.name);
    return at == places.end() ? known.size() : at->second;
  };
  if (std::all_of(found.begin(), found.end(), [&](const auto& model) { return place(model) == known.size(); })) {
    return false;
  }
  for (ServedModel& model : found) {
    if (const size_t at = place(model); at < known.size()) KeepKnown(known[at].max_context, model.max_context);
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const ServedModel& a, const ServedModel& b) { return place(a) < place(b); });
  return true;
}

bool Fell(Tokens now, Tokens before) { return now > Tokens(0) && now < before; }

}  // namespace

bool HoldsLess(const Discovery& now, const Discovery& before) {
  if (now.kind != before.kind) return false;
  const Places places = PlacesOf(before.models);
  bool known = now.models.empty() || before.models.empty();
  bool less = Fell(now.kv_tokens, before.kv_tokens) || Fell(now.sequence_limit, before.sequence_limit);
  for (const ServedModel& model : now.models) {
    const auto at = places.find(model.name);
    if (at == places.end()) continue;
    known = true;
    less = less || Fell(model.max_context, before.models[at->second].max_context);
  }
  return known && less;
}

std::vector<ServedModel> Missing(const Discovery& known, const Discovery& found) {
  const Places places = PlacesOf(found.models);
  std::vector<ServedModel> missing;
  std::copy_if(known.models.begin(), known.models.end(), std::back_inserter(missing),
               [&places](const ServedModel& model) { return !places.contains(model.name); });
  const bool other = found.kind != known.kind || missing.size() == known.models.size();
  return other ? std::vector<ServedModel>() : missing;
}

Discovery Renewed(const Discovery& known, Discovery found) {
  if (found.kind != known.kind) return found;
  if (found.models.empty()) {
    found.models = known.models;
  } else if (!known.models.empty() && !RenewModels(known.models, found.models)) {
    return found;
  }
  KeepKnown(known.version, found.version);
  // Without figures of the pool, nothing was said about ranks either.
  if (found.kv_tokens == Tokens(0)) KeepKnown(known.ranks, found.ranks);
  found.speculates = found.speculates || (found.kv_tokens == Tokens(0) && known.speculates);
  KeepKnown(known.kv_tokens, found.kv_tokens);
  KeepKnown(known.block, found.block);
  KeepKnown(known.max_sequences, found.max_sequences);
  KeepKnown(known.batch_budget, found.batch_budget);
  KeepKnown(known.sequence_limit, found.sequence_limit);
  return found;
}

}  // namespace penstock
