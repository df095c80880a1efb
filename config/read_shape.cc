#include "absl/strings/str_cat.h"
#include "config/draft.h"

namespace penstock {
namespace {

constexpr CountRange kLayerRange{1, 100'000};
constexpr CountRange kHeadRange{1, 65'536};
constexpr CountRange kWindowRange{1, 1'000'000'000};
constexpr NumberRange kElementRange{0, 1e12};

LayerGroup ReadGroup(const MapReader& reader) {
  LayerGroup group;
  if (const auto kind = reader.ReadChoice("kind", {"attention", "latent", "recurrent"})) {
    group.kind = static_cast<LayerGroup::Kind>(*kind);
  }
  if (reader.Require("layers")) reader.ReadCount("layers", kLayerRange, &group.layers);
  if (group.kind == LayerGroup::Kind::kAttention) {
    for (const absl::string_view key : {"kv_heads", "key_dim", "value_dim"}) reader.Require(key);
  }
  if (group.kind == LayerGroup::Kind::kLatent) reader.Require("latent_dim");
  reader.ReadCount("kv_heads", kHeadRange, &group.kv_heads);
  reader.ReadCount("key_dim", kHeadRange, &group.key_dim);
  reader.ReadCount("value_dim", kHeadRange, &group.value_dim);
  reader.ReadCount("latent_dim", kHeadRange, &group.latent_dim);
  reader.ReadCount("window", kWindowRange, &group.window);
  reader.ReadNumber("extra_bytes", kElementRange, &group.extra_bytes);
  reader.ReadNumber("conv_elements", kElementRange, &group.conv_elements);
  reader.ReadNumber("state_elements", kElementRange, &group.state_elements);
  reader.ReadNumber("state_bytes", {0.25, 16}, &group.state_bytes);
  return group;
}

// {layers, kv_heads, head_dim} and its variants: one kind of layer, some of them with a window.
void ReadPlainLayers(const MapReader& reader, ModelShape* shape) {
  LayerGroup full;
  reader.ReadCount("latent_dim", kHeadRange, &full.latent_dim);
  if (full.latent_dim > 0) {
    full.kind = LayerGroup::Kind::kLatent;
  } else {
    for (const absl::string_view key : {"kv_heads", "head_dim"}) reader.Require(key);
    reader.ReadCount("kv_heads", kHeadRange, &full.kv_heads);
    reader.ReadCount("head_dim", kHeadRange, &full.key_dim);
    full.value_dim = full.key_dim;
    reader.ReadCount("value_dim", kHeadRange, &full.value_dim);
  }
  full.layers = shape->layers;
  LayerGroup windowed = full;
  if (reader.ReadCount("window", kWindowRange, &windowed.window)) {
    windowed.layers = shape->layers;
    reader.ReadCount("window_layers", {1, shape->layers}, &windowed.layers);
    full.layers -= windowed.layers;
    shape->groups.push_back(windowed);
  } else if (reader.Has("window_layers")) {
    reader.Fail("window_layers", "needs window");
  }
  if (full.layers > 0) shape->groups.insert(shape->groups.begin(), full);
}

}  // namespace

std::optional<ModelShape> ReadShapeNumbers(const MapReader& reader, const std::string& name) {
  ModelShape shape;
  shape.name = name;
  if (reader.Require("layers")) reader.ReadCount("layers", kLayerRange, &shape.layers);
  reader.ReadParameters("parameters", &shape.parameters);
  shape.active_parameters = shape.parameters;
  reader.ReadParameters("active_parameters", &shape.active_parameters);
  reader.ReadCount("max_context", {1, 1'000'000'000}, &shape.max_context);
  if (reader.Has("groups")) {
    for (const absl::string_view key : {"kv_heads", "head_dim", "value_dim", "latent_dim", "window", "window_layers"}) {
      if (reader.Has(key)) reader.Fail(key, "is told per group when groups are given");
    }
    for (const MapReader& group : reader.ReadMaps("groups", SectionId::kLayerGroup)) {
      shape.groups.push_back(ReadGroup(group));
    }
    if (shape.groups.empty()) reader.Fail("groups", "must not be empty");
  } else if (shape.layers > 0) {
    ReadPlainLayers(reader, &shape);
  }
  if (shape.groups.empty()) return std::nullopt;
  return shape;
}

}  // namespace penstock
