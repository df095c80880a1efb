#include "router/policies/variants/variant_parts.h"

namespace penstock {

const VariantParts& WithoutParts() {
  static const VariantParts parts = {
      {"forecast", [](PenstockVariant& v) { v.memory = MemoryKind::kPresentUse; }},
      {"memory", [](PenstockVariant& v) { v.memory = MemoryKind::kUnlimited; }},
      {"variance", [](PenstockVariant& v) { v.variance = false; }},
      {"tenants", [](PenstockVariant& v) { v.tenant_curves = false; }},
      {"levels", [](PenstockVariant& v) { v.output_levels = false; }},
      {"steps", [](PenstockVariant& v) { v.time_guards = false; }},
      {"learning", [](PenstockVariant& v) { v.learned_steps = false; }},
      {"gpu", [](PenstockVariant& v) { v.gpu_wide = false; }},
      {"refusal", [](PenstockVariant& v) { v.refuse_late = false; }},
      {"early", [](PenstockVariant& v) { v.early_refusal = false; }},
      {"density", [](PenstockVariant& v) { v.order = OrderKind::kDeadline; }},
      {"prefixes", [](PenstockVariant& v) { v.prefix_hashes = v.hints = false; }},
      {"hashes", [](PenstockVariant& v) { v.prefix_hashes = false; }},
      {"price", [](PenstockVariant& v) { v.prices = false; }},
      {"storage", [](PenstockVariant& v) { v.storage = false; }},
      {"declarations", [](PenstockVariant& v) { v.declared = false; }},
      {"hints", [](PenstockVariant& v) { v.hints = false; }},
      {"reservations", [](PenstockVariant& v) { v.reservations = false; }},
      {"parking", [](PenstockVariant& v) { v.parking = false; }},
      {"eviction", [](PenstockVariant& v) { v.eviction = false; }},
      {"newcomers", [](PenstockVariant& v) { v.newcomers = false; }},
      {"best-effort", [](PenstockVariant& v) { v.best_effort = false; }},
      {"company", [](PenstockVariant& v) { v.first_prefill = false; }},
      {"sharing", [](PenstockVariant& v) { v.shared_prompts = false; }},
      {"attention", [](PenstockVariant& v) { v.attention = false; }},
      {"grey", [](PenstockVariant& v) { v.grey = false; }},
      {"speculation", [](PenstockVariant& v) { v.speculation = false; }},
  };
  return parts;
}

const VariantParts& Truths() {
  static const VariantParts truths = {
      {"lengths", [](PenstockVariant& v) { v.true_lengths = true; }},
      {"prompts", [](PenstockVariant& v) { v.true_prompts = true; }},
      {"steps", [](PenstockVariant& v) { v.true_steps = true; }},
  };
  return truths;
}

const VariantParts& Memories() {
  static const VariantParts memories = {
      {"exact", [](PenstockVariant& v) { v.true_growth = true; }},
      {"forecast", [](PenstockVariant& v) { v.true_growth = false; }},
      {"present", [](PenstockVariant& v) { v.memory = MemoryKind::kPresentUse; }},
  };
  return memories;
}

const VariantParts& MoreRules() {
  static const VariantParts more = {{"parking", [](PenstockVariant& v) { v.park_all = true; }},
                                    {"one-copy", [](PenstockVariant& v) { v.one_copy = true; }}};
  return more;
}

const VariantParts& Orders() {
  static const VariantParts orders = {
      {"deadline", [](PenstockVariant& v) { v.order = OrderKind::kDeadline; }},
      {"density", [](PenstockVariant& v) { v.order = OrderKind::kDensity; }},
      {"fair", [](PenstockVariant& v) { v.order = OrderKind::kFairDensity; }},
      {"shortest", [](PenstockVariant& v) { v.order = OrderKind::kShortestWork; }},
  };
  return orders;
}

}  // namespace penstock
