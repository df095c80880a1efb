// Reads a section from its mapping: visits the field list and reads each key by its form.
//
// A key that is absent keeps its default; a bad value is a finding and keeps it too. Used on one thread, for the time
// of one load. Private to config/.
#ifndef PENSTOCK_CONFIG_READ_SECTION_READER_H_
#define PENSTOCK_CONFIG_READ_SECTION_READER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/keys/key_names.h"
#include "config/read/draft.h"
#include "config/read/map_reader.h"
#include "config/read/scalar_reader.h"
#include "config/read/section_checks.h"

namespace penstock {

// The most entries of a list or of a mapping whose names the user chooses. Checks compare entries of two lists with
// each other; tenants are only compared by tables. A decision looks at every class.
inline constexpr size_t kMostListed = 10'000;
inline constexpr size_t kMostTenants = 1'000'000;
inline constexpr size_t kMostClasses = 100;

template <class Section>
void ReadSection(Draft& draft, const MapReader& map, Section& section);

class SectionReader {
 public:
  SectionReader(Draft& draft, const MapReader& map) : draft_(draft), map_(map) {}

  template <class Value, class Form>
  void operator()(const Key& key, Value& value, const Form& form) {
    if (key.Is(kRequired) && !map_.Require(key.name, WhyRequired(form))) return;
    Read(key.name, value, form);
    if (key.Is(kNoEffectYet) && map_.Has(key.name) && !IsUnset(value)) {
      draft_.config.keys_without_effect.push_back(map_.PathOf(key.name));
    }
  }

 private:
  using Name = absl::string_view;

  template <class Form>
  static absl::string_view WhyRequired(const Form&) {
    return "is required";
  }
  static absl::string_view WhyRequired(const KindForm&) {
    return "is required: a built-in name or {memory, bandwidth, bf16_tflops}";
  }

  // Scalars. False: absent or bad.
  template <class Value, class Form>
  bool Read(Name key, Value& value, const Form& form) {
    return ReadValue(map_, key, form, &value);
  }
  template <class Value, class Form>
  bool Read(Name key, std::optional<Value>& value, const Form& form) {
    Value given{};
    const bool read = Read(key, given, form);
    if (read) value = std::move(given);
    return read;
  }
  template <class Value>
  bool Read(Name key, Value& value, const CountForm& form) {
    int64_t count = 0;
    const bool read = ReadValue(map_, key, form, &count);
    if (read) value = static_cast<Value>(count);
    return read;
  }
  template <class Value>
  bool Read(Name key, std::optional<Value>& value, const CountForm& form) {
    Value given{};
    const bool read = Read(key, given, form);
    if (read) value = given;
    return read;
  }
  template <class Value>
  bool Read(Name key, Value& value, const ChoiceForm& form) {
    size_t position = 0;
    if (!ReadValue(map_, key, form, &position)) return false;
    if constexpr (std::same_as<Value, std::string>) {
      value = std::string(form.names[position]);
    } else {
      value = static_cast<Value>(position);
    }
    return true;
  }
  template <class Value>
  bool Read(Name key, std::optional<Value>& value, const ChoiceForm& form) {
    Value given{};
    const bool read = Read(key, given, form);
    if (read) value = std::move(given);
    return read;
  }
  template <class Part, class Value, class Form>
  void Read(Name key, std::optional<Part>& part, const PartForm<Part, Value, Form>& form) {
    if (!map_.Has(key)) return;
    if (!part) part.emplace();
    Read(key, (*part).*form.member, form.form);
  }

  // Sections.
  template <class Section>
  void Read(Name key, Section& section, const SectionForm&) {
    const std::optional<MapReader> map = map_.ReadMap(key, KeyNames<Section>());
    if (map) ReadSection(draft_, *map, section);
  }
  template <class Section>
  void Read(Name key, std::optional<Section>& section, const SectionForm&) {
    const std::optional<MapReader> map = map_.ReadMap(key, KeyNames<Section>());
    if (map) ReadSection(draft_, *map, section.emplace(DefaultOf<Section>()));
  }
  template <class Section>
  void Read(Name key, std::vector<Section>& sections, const ListForm&) {
    constexpr size_t kMost = std::same_as<Section, TenantConfig> ? kMostTenants : kMostListed;
    std::vector<MapReader> maps = map_.ReadMaps(key, KeyNames<Section>(), kMost);
    for (const MapReader& map : maps) {
      Section section = DefaultOf<Section>();
      ReadSection(draft_, map, section);
      sections.push_back(std::move(section));
    }
    draft_.lists[map_.PathOf(key)] = std::move(maps);
  }
  void Read(Name key, std::vector<ClassConfig>& classes, const ClassesForm& form);

  // Values with a rule of their own.
  void Read(Name key, std::string& policy, const PolicyForm& form);
  void Read(Name key, std::string& secret, const SecretForm& form);
  void Read(Name key, PemFile& file, const PemForm& form);
  void Read(Name key, std::vector<std::string>& digests, const ApiKeysForm& form);
  void Read(Name key, std::map<std::string, std::string>& texts, const TextMapForm& form);
  void Read(Name key, std::map<std::string, std::string>& secrets, const SecretMapForm& form);
  void Read(Name key, GpuKind& kind, const KindForm& form);
  void Read(Name key, GpuKind& kind, const KindMemoryForm& form);
  void Read(Name key, std::optional<ModelShape>& shape, const ShapeForm& form);

  Draft& draft_;
  const MapReader& map_;
};

template <class Section>
void ReadSection(Draft& draft, const MapReader& map, Section& section) {
  SectionReader reader(draft, map);
  VisitFields(section, reader);
  CheckSection(section, map, draft);
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_SECTION_READER_H_
