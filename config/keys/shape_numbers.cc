#include "config/keys/shape_numbers.h"

#include <algorithm>

namespace penstock {
namespace {

LayerGroup PlainGroup(const ShapeNumbers& numbers) {
  LayerGroup group;
  group.layers = numbers.layers;
  if (numbers.latent_dim > 0) {
    group.kind = LayerGroup::Kind::kLatent;
    group.latent_dim = numbers.latent_dim;
    return group;
  }
  group.kv_heads = numbers.kv_heads;
  group.key_dim = numbers.head_dim;
  group.value_dim = numbers.value_dim > 0 ? numbers.value_dim : numbers.head_dim;
  return group;
}

// One kind of layer; some of the layers may have a window.
std::vector<LayerGroup> PlainGroups(const ShapeNumbers& numbers) {
  std::vector<LayerGroup> groups;
  LayerGroup full = PlainGroup(numbers);
  LayerGroup windowed = full;
  if (numbers.window) {
    windowed.window = numbers.window;
    if (numbers.window_layers > 0) windowed.layers = std::min(numbers.window_layers, numbers.layers);
    full.layers -= windowed.layers;
  }
  if (full.layers > 0) groups.push_back(full);
  if (numbers.window) groups.push_back(windowed);
  return groups;
}

}  // namespace

std::optional<ModelShape> ShapeOf(const ShapeNumbers& numbers) {
  ModelShape shape;
  shape.layers = numbers.layers;
  shape.parameters = numbers.parameters;
  shape.active_parameters = numbers.active_parameters > 0 ? numbers.active_parameters : numbers.parameters;
  shape.attention_width = numbers.attention_width;
  shape.max_context = numbers.max_context;
  if (!numbers.groups.empty()) {
    shape.groups = numbers.groups;
  } else if (numbers.layers > 0) {
    shape.groups = PlainGroups(numbers);
  }
  if (shape.groups.empty()) return std::nullopt;
  return shape;
}

ShapeNumbers NumbersOf(const ModelShape& shape) {
  ShapeNumbers numbers;
  numbers.layers = shape.layers;
  numbers.parameters = shape.parameters;
  numbers.active_parameters = shape.active_parameters;
  numbers.attention_width = shape.attention_width;
  numbers.max_context = shape.max_context;
  numbers.groups = shape.groups;
  return numbers;
}

}  // namespace penstock
