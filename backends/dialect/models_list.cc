#include "backends/dialect/models_list.h"

#include <algorithm>

#include "backends/dialect/json_values.h"

namespace penstock {
namespace {

int64_t ContextOf(const EngineJson& card) {
  for (const char* key : {"max_model_len", "context_length", "max_context_length"}) {
    if (const int64_t tokens = MemberInt(card, key); tokens > 0) return tokens;
  }
  return std::max<int64_t>(0, MemberInt(Member(card, "meta"), "n_ctx"));
}

void Add(const std::string& name, int64_t context, std::vector<ServedModel>* models) {
  const auto same = [&](const ServedModel& model) { return model.name == name; };
  if (name.empty() || std::any_of(models->begin(), models->end(), same)) return;
  models->push_back(ServedModel{name, Tokens(context)});
}

// The card of a LoRA adapter names its parent and has no context of its own.
void InheritContext(const EngineJson& cards, std::vector<ServedModel>* models) {
  for (const EngineJson& card : cards) {
    const std::string name = MemberText(card, "id");
    const std::string parent = MemberText(card, "parent");
    if (parent.empty() || ContextOf(card) > 0) continue;
    Tokens context{0};
    for (const ServedModel& model : *models) {
      if (model.name == parent) context = model.max_context;
    }
    for (ServedModel& model : *models) {
      if (model.name == name) model.max_context = context;
    }
  }
}

}  // namespace

absl::StatusOr<ModelsList> ParseModelsList(absl::string_view body) {
  const EngineJson document = ParseEngineJson(body);
  const EngineJson& cards = Member(document, "data");
  if (!cards.is_array()) return absl::InvalidArgumentError("models: no data array");
  ModelsList list;
  for (const EngineJson& card : cards) {
    Add(MemberText(card, "id"), ContextOf(card), &list.models);
    const EngineJson& aliases = Member(card, "aliases");
    for (const EngineJson& alias : aliases.is_array() ? aliases : EngineJson::array()) {
      if (alias.is_string()) Add(alias.get<std::string>(), ContextOf(card), &list.models);
    }
    if (list.owner.empty()) list.owner = MemberText(card, "owned_by");
  }
  InheritContext(cards, &list.models);
  return list;
}

}  // namespace penstock
