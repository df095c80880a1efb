#include "router/fleet/discovery_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/engines/catalogue/engine_catalogue.h"

namespace penstock {

std::string DiscoveryText(const Discovery& discovery, const ReplicaSpec& in_use) {
  std::string text = absl::StrCat("engine is ", EngineOf(discovery.kind).name);
  if (!discovery.version.empty()) absl::StrAppend(&text, " ", discovery.version);
  const auto name = [](std::string* out, const ServedModel& model) { out->append(model.name); };
  absl::StrAppend(&text, " with model ", absl::StrJoin(discovery.models, ", ", name), ":");
  if (in_use.max_context > Tokens(0)) absl::StrAppend(&text, " context ", in_use.max_context.value(), " tokens,");
  if (discovery.kv_tokens > Tokens(0)) {
    absl::StrAppend(&text, " KV memory ", discovery.kv_tokens.value(), " tokens");
    if (discovery.block > Tokens(0)) absl::StrAppend(&text, " in blocks of ", discovery.block.value());
    absl::StrAppend(&text, ",");
  }
  absl::StrAppend(&text, " at most ", in_use.max_sequences, " sequences, steps of ", in_use.batch_budget.value(),
                  " tokens");
  if (!discovery.left_out.empty()) {
    absl::StrAppend(&text,
                    "; models whose names nobody can ask for are left out: ", absl::StrJoin(discovery.left_out, ", "));
  }
  return text;
}

std::string WhyUnreached(const absl::Status& status) {
  std::string text(status.message());
  if (absl::IsUnauthenticated(status)) text += "; `key` of the replica is missing or wrong";
  if (absl::IsNotFound(status))
    text += "; it lacks a page that its kind has, so `engine` or the path of `url` may be wrong";
  return text;
}

}  // namespace penstock
