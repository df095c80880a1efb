#include "backends/engines/contract/served_models.h"

#include <utility>

namespace penstock {

absl::Status ReadServedModels(absl::string_view body, Discovery* found) {
  auto list = ParseModelsList(body);
  if (!list.ok()) return list.status();
  found->models = std::move(list->models);
  found->left_out = std::move(list->left_out);
  found->models_beyond = list->beyond;
  return absl::OkStatus();
}

}  // namespace penstock
