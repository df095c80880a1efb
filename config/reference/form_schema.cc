#include "config/reference/form_schema.h"

#include <string>

namespace penstock {
namespace {

Schema Reference(const char* name) { return {{"$ref", std::string("#/$defs/") + name}}; }

Schema Items(Schema item) { return {{"type", "array"}, {"items", std::move(item)}}; }

std::string NameOf(absl::string_view name) { return std::string(name); }

}  // namespace

Schema SharedDefinitions() {
  return {
      {"size",
       {{"type", "string"},
        {"pattern", R"(^[0-9]+(\.[0-9]+)? ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$)"},
        {"description", "A size with its unit; GB is 10^9 bytes, GiB 2^30."}}},
      {"duration",
       {{"type", "string"},
        {"pattern", R"(^[0-9]+(\.[0-9]+)? ?(ns|us|ms|s|m|h|d)$)"},
        {"description", "A duration with its unit."}}},
      {"count",
       {{"type", {"integer", "string"}},
        {"pattern", R"(^[0-9]+(\.[0-9]+)? ?[kM]?$)"},
        {"description", "A whole number, or one with k (thousand) or M (million)."}}},
      {"parameters",
       {{"type", {"number", "string"}},
        {"minimum", 1000},
        {"pattern", R"(^[0-9]+(\.[0-9]+)?[kMBT]?$)"},
        {"description", "A number of parameters, as 8.03B."}}},
  };
}

Schema TextSchema() { return {{"type", "string"}}; }
Schema SchemaOf(const HeaderNameForm&) { return {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-]+$"}}; }
Schema SchemaOf(const HeaderNamesForm&) { return Items(SchemaOf(HeaderNameForm{})); }
Schema SchemaOf(const ProxiesForm&) {
  return Items({{"type", "string"}, {"pattern", "^(unix|[0-9a-fA-F.:]+(/[0-9]{1,3})?)$"}});
}
Schema SchemaOf(const NameForm&) { return {{"type", "string"}, {"pattern", "^[^ ]{1,256}$"}}; }
Schema SchemaOf(const FilledTextForm&) { return {{"type", "string"}, {"minLength", 1}}; }
Schema SchemaOf(const PathForm&) { return {{"type", "string"}, {"minLength", 1}}; }
Schema SchemaOf(const TextsForm&) { return Items({{"type", "string"}, {"minLength", 1}}); }
Schema SchemaOf(const ApiKeysForm&) {
  Schema keys = Items({{"type", "string"}, {"minLength", 1}});
  keys["minItems"] = 1;
  return keys;
}
Schema SchemaOf(const TextMapForm&) { return {{"type", "object"}, {"additionalProperties", TextSchema()}}; }
Schema SchemaOf(const SecretMapForm&) {
  return {{"type", "object"},
          {"propertyNames", SchemaOf(HeaderNameForm{})},
          {"additionalProperties", {{"type", "string"}, {"minLength", 1}}}};
}
Schema SchemaOf(const FlagForm&) { return {{"type", "boolean"}}; }
Schema SchemaOf(const CountForm& form) {
  Schema count = Reference("count");
  count["minimum"] = form.lowest;
  count["maximum"] = form.highest;
  return count;
}
Schema SchemaOf(const NumberForm& form) {
  return {{"type", "number"}, {"minimum", form.lowest}, {"maximum", form.highest}};
}
Schema SchemaOf(const SizeForm&) { return Reference("size"); }
Schema SchemaOf(const TimeForm&) { return Reference("duration"); }
Schema SchemaOf(const ParametersForm&) { return Reference("parameters"); }
Schema SchemaOf(const BandwidthForm&) {
  return {{"type", "string"}, {"pattern", R"(^[0-9]+(\.[0-9]+)? ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)/s$)"}};
}
Schema SchemaOf(const ChoiceForm& form) {
  Schema names = Schema::array();
  for (const absl::string_view name : form.names) names.push_back(NameOf(name));
  return {{"enum", std::move(names)}};
}

}  // namespace penstock
