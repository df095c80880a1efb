// The keys of a model's shape in numbers.
#ifndef PENSTOCK_CONFIG_KEYS_SHAPE_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_SHAPE_KEYS_H_

#include "config/keys/key.h"
#include "config/keys/names.h"
#include "config/keys/ranges.h"
#include "config/keys/shape_numbers.h"

namespace penstock {

inline constexpr CountForm kLayerCount{1, 100'000};
inline constexpr CountForm kDimension{1, 65'536};
inline constexpr CountForm kWindowTokens{1, 1'000'000'000};
inline constexpr NumberForm kElements{0, 1e12};

inline SectionDoc DocOf(const ShapeNumbers&) {
  return {"shape", "A model in numbers: they decide the bytes of a token in the KV cache."};
}

template <Of<ShapeNumbers> Section, class Visitor>
void VisitFields(Section& shape, Visitor& visit) {
  visit({"layers", "All layers.", kRequired}, shape.layers, kLayerCount);
  visit({"kv_heads", "KV heads.", kUnlessZero}, shape.kv_heads, kDimension);
  visit({"head_dim", "Dimension of a head.", kUnlessZero}, shape.head_dim, kDimension);
  visit({"value_dim", "Dimension of a value head. Left out: head_dim.", kUnlessZero}, shape.value_dim, kDimension);
  visit({"latent_dim", "MLA: kv_lora_rank + qk_rope_head_dim, in place of heads.", kUnlessZero}, shape.latent_dim,
        kDimension);
  visit({"window", "Tokens of the sliding window.", kUnlessZero}, shape.window, kWindowTokens);
  visit({"window_layers", "Layers with the window. Left out: all.", kUnlessZero}, shape.window_layers, kLayerCount);
  visit({"parameters", "All parameters, for the weights. Left out: unknown.", kUnlessZero}, shape.parameters,
        ParametersForm{});
  visit({"active_parameters", "Parameters that one token passes through. Left out: all.", kUnlessZero},
        shape.active_parameters, ParametersForm{});
  visit({"attention_width",
         "Query heads times their dimension, for the time of long prompts. Left out: from the active parameters.",
         kUnlessZero},
        shape.attention_width, kElements);
  visit({"max_context", "Most tokens of prompt and output together. Left out: unknown.", kUnlessZero},
        shape.max_context, kContextTokens);
  visit({"groups", "Groups of equal layers, in place of the heads and windows above."}, shape.groups, ListForm{});
}

inline SectionDoc DocOf(const LayerGroup&) { return {"layer_group", "Layers of equal KV layout."}; }

template <Of<LayerGroup> Section, class Visitor>
void VisitFields(Section& group, Visitor& visit) {
  visit({"kind", "Keys and values per token, one latent vector per token, or a constant state per sequence."},
        group.kind, ChoiceForm{kLayerKindNames});
  visit({"layers", "Layers of this group.", kRequired}, group.layers, kLayerCount);
  visit({"kv_heads", "KV heads; attention needs it.", kUnlessZero}, group.kv_heads, kDimension);
  visit({"key_dim", "Dimension of a key; attention needs it.", kUnlessZero}, group.key_dim, kDimension);
  visit({"value_dim", "Dimension of a value; attention needs it.", kUnlessZero}, group.value_dim, kDimension);
  visit({"latent_dim", "Dimension of the latent vector; latent needs it.", kUnlessZero}, group.latent_dim, kDimension);
  visit({"window", "Tokens of the sliding window.", kUnlessZero}, group.window, kWindowTokens);
  visit({"extra_bytes", "Bytes per token and layer beside the elements of the cache (indexer of sparse MLA: 132).",
         kUnlessZero},
        group.extra_bytes, kElements);
  visit({"conv_elements", "Recurrent: elements of convolution state per sequence and layer.", kUnlessZero},
        group.conv_elements, kElements);
  visit({"state_elements", "Recurrent: elements of state per sequence and layer.", kUnlessZero}, group.state_elements,
        kElements);
  visit({"state_bytes", "Recurrent: bytes per element of state.", kUnlessZero}, group.state_bytes,
        NumberForm{0.25, 16});
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_SHAPE_KEYS_H_
