#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/keys/key_names.h"
#include "config/reference/default_text.h"
#include "config/reference/form_schema.h"
#include "config/reference/form_words.h"
#include "config/reference/reference.h"

namespace penstock {
namespace {

// The default in the JSON type of its form.
template <class Value, class Form>
Schema DefaultOfKey(const Value& value, const Form&, const std::string& text) {
  constexpr bool kScalar = std::same_as<Form, FlagForm> || std::same_as<Form, NumberForm>;
  if constexpr (kScalar && std::is_arithmetic_v<Value>) return value;
  if constexpr (std::same_as<Form, CountForm>) return std::stoll(text);
  return text;
}

// Collects the properties of sections; `definitions` has one entry per section that another refers to.
class SchemaWriter {
 public:
  SchemaWriter(Schema& definitions, const std::vector<std::string>& policies)
      : definitions_(definitions), policies_(policies) {}

  // The schema of one section.
  template <class Section>
  Schema Write() {
    const Section section = DefaultOf<Section>();
    VisitFields(section, *this);
    Schema schema = {{"description", DocOf(section).purpose},
                     {"type", "object"},
                     {"additionalProperties", false},
                     {"properties", std::move(properties_)}};
    if (!required_.empty()) schema["required"] = std::move(required_);
    return schema;
  }

  template <class Value, class Form>
  void operator()(const Key& key, const Value& value, const Form& form) {
    Schema property = Of(value, form);
    property["description"] = Description(key, form);
    if (const std::optional<std::string> text = DefaultText(key, value, form)) {
      property["default"] = DefaultOfKey(value, form, *text);
    }
    properties_[key.name] = std::move(property);
    if (key.Is(kRequired)) required_.push_back(key.name);
  }

 private:
  template <class Section>
  Schema ReferenceTo() {
    const std::string name = DocOf(Section{}).name;
    if (!definitions_.contains(name)) {
      definitions_[name] = nullptr;  // Holds the place in the order of first mention.
      definitions_[name] = SchemaWriter(definitions_, policies_).Write<Section>();
    }
    return {{"$ref", "#/$defs/" + name}};
  }
  template <class Form>
  static std::string Description(const Key& key, const Form& form) {
    std::string text = key.effect;
    // A schema cannot bound texts with units.
    if constexpr (std::same_as<Form, SizeForm> || std::same_as<Form, TimeForm>) text += " A " + WordsOf(form) + ".";
    if (key.Is(kNoEffectYet)) text += " No effect yet.";
    return text;
  }

  template <class Value, class Form>
  Schema Of(const Value&, const Form& form) {
    return SchemaOf(form);
  }
  Schema Of(const std::string&, const PolicyForm&) {
    const Schema name = {{"enum", policies_}};
    const Schema text = {{"type", "string"}, {"pattern", "^[a-z_]+:[a-z_]+=[a-z0-9_.+]+(,[a-z_]+=[a-z0-9_.+]+)*$"}};
    Schema one = {{"description", "Policy that decides."}, {"anyOf", {name, text}}};
    Schema pair = {{"type", "object"}, {"additionalProperties", false}, {"required", {"decide"}}};
    pair["properties"]["decide"] = one;
    one["description"] = "Policy that runs beside it on the same events; nobody carries its decisions out.";
    pair["properties"]["shadow"] = one;
    return {{"anyOf", {name, text, pair}}};
  }
  Schema Of(const GpuKind&, const KindForm&) {
    Schema names = Schema::array();
    for (const GpuKind& kind : GpuKinds()) names.push_back(kind.name);
    return {{"anyOf", {{{"enum", std::move(names)}}, ReferenceTo<GpuKind>()}}};
  }
  Schema Of(const std::optional<ModelShape>&, const ShapeForm&) {
    return {{"anyOf", {TextSchema(), ReferenceTo<ShapeNumbers>()}}};
  }
  template <class Section>
  Schema Of(const Section&, const SectionForm&) {
    return ReferenceTo<Section>();
  }
  template <class Section>
  Schema Of(const std::optional<Section>&, const SectionForm&) {
    return ReferenceTo<Section>();
  }
  template <class Section>
  Schema Of(const std::vector<Section>&, const ListForm&) {
    return {{"type", "array"}, {"items", ReferenceTo<Section>()}};
  }
  Schema Of(const std::vector<ClassConfig>&, const ClassesForm&) {
    return {{"type", "object"}, {"additionalProperties", ReferenceTo<ClassConfig>()}};
  }

  Schema& definitions_;
  const std::vector<std::string>& policies_;
  Schema properties_ = Schema::object();
  Schema required_ = Schema::array();
};

}  // namespace

std::string ConfigSchema(const std::vector<std::string>& policies) {
  Schema definitions = SharedDefinitions();
  const Schema root = SchemaWriter(definitions, policies).Write<Config>();
  Schema schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Penstock configuration"}};
  schema.update(root);
  schema["$defs"] = std::move(definitions);
  return schema.dump(2) + "\n";
}

}  // namespace penstock
