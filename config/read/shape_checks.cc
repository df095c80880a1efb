#include "absl/strings/str_cat.h"
#include "config/read/section_checks.h"

namespace penstock {

void CheckSection(LayerGroup& group, const MapReader& map, Draft&) {
  if (group.kind == LayerGroup::Kind::kAttention) {
    for (const absl::string_view key : {"kv_heads", "key_dim", "value_dim"}) map.Require(key);
  }
  if (group.kind == LayerGroup::Kind::kLatent) map.Require("latent_dim");
}

void CheckSection(ShapeNumbers& shape, const MapReader& map, Draft&) {
  if (map.Has("groups")) {
    for (const absl::string_view key : {"kv_heads", "head_dim", "value_dim", "latent_dim", "window", "window_layers"}) {
      if (map.Has(key)) map.Fail(key, "is given per group when groups are given");
    }
    if (shape.groups.empty()) map.Fail("groups", "must not be empty");
    return;
  }
  if (shape.layers == 0) return;
  if (shape.latent_dim == 0) {
    for (const absl::string_view key : {"kv_heads", "head_dim"}) map.Require(key);
  }
  if (!shape.window && map.Has("window_layers")) map.Fail("window_layers", "needs window");
  if (shape.window && shape.window_layers > shape.layers) {
    map.Fail("window_layers", absl::StrCat(shape.window_layers, " is outside 1 to ", shape.layers));
  }
}

}  // namespace penstock
