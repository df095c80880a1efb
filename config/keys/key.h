// One key of the configuration and the forms that its value can have.
//
// A section declares each key once, in a field list of this folder:
//
//   template <Of<PollConfig> Section, class Visitor>
//   void VisitFields(Section& poll, Visitor& visit) {
//     visit({"interval", "Time between two observations of an engine."}, poll.interval,
//           TimeForm{Duration::Milliseconds(50), Duration::Seconds(60)});
//   }
//
// The reader, the printer, the check for unknown keys, the restart check, the JSON schema and the reference all visit
// the same lists. The type and the default of a key come from the value, unit and range from the form.
#ifndef PENSTOCK_CONFIG_KEYS_KEY_H_
#define PENSTOCK_CONFIG_KEYS_KEY_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/units.h"

namespace penstock {

// A section of the type `Config` or `const Config`.
template <class Section, class Config>
concept Of = std::same_as<std::remove_const_t<Section>, Config>;

enum KeyFlag : unsigned {
  kOptional = 0,
  kRequired = 1,
  kNeedsRestart = 2,  // A running router cannot take a new value.
  kUnlessZero = 4,    // Printed only when it is not zero, false, empty or infinite.
  kNoEffectYet = 8,   // Read, but nothing uses it; `check` warns.
};

struct Key {
  const char* name;
  const char* effect;  // Plain sentences for the schema and the reference.
  unsigned flags = kOptional;

  constexpr bool Is(KeyFlag flag) const { return (flags & flag) != 0; }
};

// Name and purpose of a section in the schema and the reference.
struct SectionDoc {
  const char* name;
  const char* purpose;
};

// Texts: each form has its own check.
struct TextForm {};         // No control characters.
struct NameForm {};         // 1 to 256 characters without spaces: names become labels, headers and log fields.
struct FilledTextForm {};   // Not empty.
struct PathForm {};         // A path, not empty, relative to the working directory of the router.
struct ListenForm {};       // HOST:PORT or unix:/PATH; port 0 takes a free one.
struct EngineUrlForm {};    // http[s]://HOST[:PORT][/BASE] or unix:/PATH.
struct HeaderNameForm {};   // Letters, digits, - and _.
struct HeaderNamesForm {};  // A list of such names.
struct ProxiesForm {};      // A list of addresses, of ranges such as 10.0.0.0/8, and of "unix".
struct PolicyForm {};       // NAME or NAME:SETTING=VALUE,...
struct SecretForm {};       // ${NAME} or file:PATH; never printed.
struct PemForm {};          // A PemFile, relative to the folder of the configuration.
struct TextsForm {};        // A list of texts.
struct ApiKeysForm {};      // A list of secrets or sha256:HEX, held as digests.
struct TextMapForm {};      // Names chosen by the user to texts.
struct SecretMapForm {};    // Names of headers to secrets; never printed.

// Scalars. Bounds are inclusive.
struct FlagForm {};
struct CountForm {
  int64_t lowest;
  int64_t highest;
};
struct NumberForm {
  double lowest;
  double highest;
};
struct SizeForm {
  Bytes lowest;
  Bytes highest;
};
struct TimeForm {
  Duration lowest;
  Duration highest;
};
struct ParametersForm {  // A number of parameters, as 8.03B.
  double lowest = 1e3;
  double highest = 1e15;
};
struct BandwidthForm {  // GB/s.
  double lowest;
  double highest;
};
// One of `names`. The value is the name itself or an enumeration (or bool) that counts them from zero.
struct ChoiceForm {
  absl::Span<const absl::string_view> names;
};

// Sections.
struct SectionForm {
  bool one_line = false;  // Printed in one line.
};
struct ListForm {};     // A list of sections.
struct ClassesForm {};  // Sections by class name.

// Forms of one key each.
struct KindForm {};      // GpuKind: a built-in name or its numbers.
struct KindMemoryForm {  // The memory of a GpuKind, beside a built-in name.
  SizeForm size;
};
struct ShapeForm {};  // ModelShape: a built-in name, a path to a config.json or its numbers.

// One member of an optional part of a section: the part exists when one of its keys is given.
template <class Part, class Value, class Form>
struct PartForm {
  Value Part::*member;
  Form form;
};
template <class Part, class Value, class Form>
PartForm(Value Part::*, Form) -> PartForm<Part, Value, Form>;

// The value of a section whose keys are all left out.
template <class Section>
Section DefaultOf() {
  return Section{};
}

// Zero, false, empty or infinite.
template <class Value>
bool IsUnset(const Value& value) {
  if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (std::same_as<Value, Duration>) {
    return value == Duration() || value == Duration::Infinite();
  } else if constexpr (std::equality_comparable<Value>) {
    return value == Value{};
  } else {
    return false;
  }
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_KEY_H_
