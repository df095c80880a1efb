// A ModelShape as a file writes it: one kind of layer, or groups of equal layers. Values.
#ifndef PENSTOCK_CONFIG_KEYS_SHAPE_NUMBERS_H_
#define PENSTOCK_CONFIG_KEYS_SHAPE_NUMBERS_H_

#include <optional>
#include <vector>

#include "base/units.h"
#include "kvmodel/model_shape.h"

namespace penstock {

// Zero means left out.
struct ShapeNumbers {
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int value_dim = 0;   // Left out: head_dim.
  int latent_dim = 0;  // In place of heads.
  std::optional<Tokens> window;
  int window_layers = 0;  // Left out: all.
  double parameters = 0;
  double active_parameters = 0;  // Left out: parameters.
  double attention_width = 0;
  Tokens max_context{0};
  std::vector<LayerGroup> groups;  // In place of heads and windows.
};

// The shape without a name; nullopt when the numbers give no layer.
std::optional<ModelShape> ShapeOf(const ShapeNumbers& numbers);
// The numbers of a shape, as groups. ShapeOf gives the same shape back.
ShapeNumbers NumbersOf(const ModelShape& shape);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_SHAPE_NUMBERS_H_
