#include "config/print/print_config.h"

#include <yaml-cpp/yaml.h>

#include <map>

#include "config/keys/key_names.h"
#include "config/print/value_text.h"
#include "config/values/policy_pair.h"

namespace penstock {
namespace {

// Writes the keys of one section.
class SectionPrinter {
 public:
  explicit SectionPrinter(YAML::Emitter& out) : out_(out) {}

  template <class Value, class Form>
  void operator()(const Key& key, const Value& value, const Form& form) {
    // The printed keys are in effect, so a file that is made of them needs no warning.
    if (key.Is(kNoEffectYet) || (key.Is(kUnlessZero) && IsUnset(value))) return;
    Print(key, value, form);
  }
  template <class Section>
  void Map(const Section& section, bool one_line) {
    if (one_line) out_ << YAML::Flow;
    out_ << YAML::BeginMap;
    VisitFields(section, *this);
    out_ << YAML::EndMap;
  }

 private:
  void Start(const std::string& key) { out_ << YAML::Key << key << YAML::Value; }

  template <class Value, class Form>
  requires PlainValue<Value, Form>
  void Print(const Key& key, const Value& value, const Form& form) {
    const std::string text = ValueText(value, form);
    if (text.empty()) return;
    Start(key.name);
    out_ << text;
  }
  template <class Value, class Form>
  void Print(const Key& key, const std::optional<Value>& value, const Form& form) {
    if (value) Print(key, *value, form);
  }
  template <class Part, class Value, class Form>
  void Print(const Key& key, const std::optional<Part>& part, const PartForm<Part, Value, Form>& form) {
    if (part) (*this)(key, (*part).*form.member, form.form);
  }
  template <class Section>
  static bool AnyInEffect(const Section& section) {
    bool any = false;
    const auto look = [&any](const Key& key, const auto&, const auto&) { any |= !key.Is(kNoEffectYet); };
    VisitFields(section, look);
    return any;
  }
  template <class Section>
  void Print(const Key& key, const Section& section, const SectionForm& form) {
    if (!AnyInEffect(section)) return;
    Start(key.name);
    Map(section, form.one_line);
  }
  template <class Section>
  void Print(const Key& key, const std::optional<Section>& section, const SectionForm& form) {
    if (section) Print(key, *section, form);
  }
  template <class Section>
  void Print(const Key& key, const std::vector<Section>& sections, const ListForm&) {
    if (sections.empty()) return;
    Start(key.name);
    out_ << YAML::BeginSeq;
    for (const Section& section : sections) Map(section, false);
    out_ << YAML::EndSeq;
  }
  void Print(const Key& key, const std::vector<ClassConfig>& classes, const ClassesForm&) {
    Start(key.name);
    out_ << YAML::BeginMap;
    for (const ClassConfig& each : classes) {
      Start(each.name);
      Map(each, true);
    }
    out_ << YAML::EndMap;
  }
  void Print(const Key& key, const std::string& policy, const PolicyForm&) {
    const PolicyPair pair = PolicyPairOf(policy);
    if (pair.shadow.empty()) return Print(key, policy, TextForm{});
    Start(key.name);
    out_ << YAML::Flow << YAML::BeginMap << YAML::Key << "decide" << YAML::Value << pair.decide << YAML::Key << "shadow"
         << YAML::Value << pair.shadow << YAML::EndMap;
  }
  void Print(const Key& key, const std::vector<std::string>& texts, const TextsForm&) {
    if (texts.empty()) return;
    Start(key.name);
    out_ << YAML::Flow << texts;
  }
  void Print(const Key& key, const std::vector<std::string>& names, const HeaderNamesForm&) {
    Print(key, names, TextsForm{});
  }
  void Print(const Key& key, const std::vector<std::string>& proxies, const ProxiesForm&) {
    Print(key, proxies, TextsForm{});
  }
  void Print(const Key& key, const std::vector<std::string>& digests, const ApiKeysForm&) {
    Print(key, std::vector<std::string>(digests.size(), std::string(kHiddenSecret)), TextsForm{});
  }
  void Print(const Key& key, const std::map<std::string, std::string>& texts, const TextMapForm&) {
    Start(key.name);
    out_ << YAML::Flow << YAML::BeginMap;
    for (const auto& [name, text] : texts) out_ << YAML::Key << name << YAML::Value << text;
    out_ << YAML::EndMap;
  }
  void Print(const Key& key, const std::map<std::string, std::string>& secrets, const SecretMapForm&) {
    std::map<std::string, std::string> hidden;
    for (const auto& [name, secret] : secrets) hidden[name] = std::string(kHiddenSecret);
    Print(key, hidden, TextMapForm{});
  }
  // A built-in kind keeps its name when only its memory differs.
  static bool HasBuiltinName(GpuKind kind) {
    const GpuKind* builtin = FindGpuKind(kind.name);
    if (builtin == nullptr) return false;
    kind.memory = builtin->memory;
    return *builtin == kind;
  }
  void Print(const Key& key, const GpuKind& kind, const KindForm&) {
    if (HasBuiltinName(kind)) return Print(key, kind.name, TextForm{});
    Print(key, kind, SectionForm{true});
  }
  void Print(const Key& key, const GpuKind& kind, const KindMemoryForm& form) {
    if (HasBuiltinName(kind)) Print(key, kind.memory, form.size);
  }
  void Print(const Key& key, const std::optional<ModelShape>& shape, const ShapeForm&) {
    if (!shape) return;
    const ModelShape* builtin = FindBuiltinShape(shape->name);
    if (builtin && *builtin == *shape) return Print(key, shape->name, TextForm{});
    ShapeNumbers numbers = NumbersOf(*shape);
    for (LayerGroup& group : numbers.groups) {
      if (group.kind != LayerGroup::Kind::kRecurrent) group.state_bytes = 0;  // Of no use, so not printed.
    }
    Print(key, numbers, SectionForm{});
  }

  YAML::Emitter& out_;
};

}  // namespace

std::string PrintConfig(const Config& config) {
  YAML::Emitter emitter;
  SectionPrinter(emitter).Map(config, false);
  return std::string(emitter.c_str()) + "\n";
}

}  // namespace penstock
