#include "backends/dialect/models_list.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/json_values.h"
#include "base/harmless.h"

namespace penstock {
namespace {

int64_t ContextOf(const EngineJson& card) {
  for (const char* key : {"max_model_len", "context_length", "max_context_length"}) {
    if (const int64_t tokens = MemberInt(card, key); tokens > 0) return tokens;
  }
  return std::max<int64_t>(0, MemberInt(Member(card, "meta"), "n_ctx"));
}

// Names that are left out: the list has so many, and so much of each.
constexpr size_t kMostLeftOut = 5;
constexpr size_t kMostOfName = 64;

// The models by name, in the order of the list.
class Names {
 public:
  void Add(const std::string& name, int64_t context, const std::string& owner) {
    if (!IsModelName(name)) return NoteLeftOut(name, &left_out_);
    if (places_.contains(name)) return;
    if (models_.size() >= kMostModels) {
      ++beyond_;
      return;
    }
    places_.emplace(name, models_.size());
    models_.push_back(ServedModel{name, Tokens(context), "", "", owner});
  }
  ServedModel* Find(const std::string& name) {
    const auto it = places_.find(name);
    return it == places_.end() ? nullptr : &models_[it->second];
  }
  std::vector<ServedModel> Take() { return std::move(models_); }
  std::vector<std::string> TakeLeftOut() { return std::move(left_out_); }
  size_t beyond() const { return beyond_; }

 private:
  size_t beyond_ = 0;
  std::vector<std::string> left_out_;
  std::vector<ServedModel> models_;
  absl::flat_hash_map<std::string, size_t> places_;
};

// The card of a LoRA adapter names its parent and mostly has no context of its own.
void ReadParents(const EngineJson& cards, Names& names) {
  for (const EngineJson& card : cards) {
    const std::string parent = MemberText(card, "parent");
    const std::string id = MemberText(card, "id");
    if (!IsModelName(parent) || parent == id) continue;
    ServedModel* model = names.Find(id);
    if (model == nullptr) continue;
    model->parent = parent;
    if (const std::string root = MemberText(card, "root"); IsModelName(root)) model->root = root;
    const ServedModel* base = names.Find(parent);
    if (ContextOf(card) <= 0) model->max_context = base != nullptr ? base->max_context : Tokens(0);
  }
}

}  // namespace

bool IsModelName(absl::string_view name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !name.empty() && name.size() <= kLongestModelName && std::none_of(name.begin(), name.end(), control) &&
         !absl::StrContains(name, kReplacement);
}

void NoteLeftOut(absl::string_view name, std::vector<std::string>* left_out) {
  if (left_out->size() >= kMostLeftOut) return;
  left_out->push_back(absl::StrCat("\"", Harmless(name.substr(0, kMostOfName)), "\""));
}

absl::StatusOr<ModelsList> ParseModelsList(absl::string_view body) {
  if (body.size() > kLongestEngineJson) return absl::InvalidArgumentError("models: the list is longer than 1 MiB");
  const EngineJson document = ParseEngineJson(body);
  if (document.is_discarded()) return absl::InvalidArgumentError("models: the answer is no JSON");
  const EngineJson& cards = Member(document, "data");
  if (!cards.is_array()) return absl::InvalidArgumentError("models: no data array");
  ModelsList list;
  Names names;
  for (const EngineJson& card : cards) {
    const std::string owned = MemberText(card, "owned_by");
    const std::string owner = IsModelName(owned) ? owned : "";
    names.Add(MemberText(card, "id"), ContextOf(card), owner);
    for (const EngineJson& alias : ElementsOf(Member(card, "aliases"))) {
      if (alias.is_string()) names.Add(alias.get<std::string>(), ContextOf(card), owner);
    }
    if (list.owner.empty()) list.owner = owned;
  }
  ReadParents(cards, names);
  list.models = names.Take();
  list.left_out = names.TakeLeftOut();
  list.beyond = names.beyond();
  return list;
}

}  // namespace penstock
