// The default of a key as a configuration file would write it.
#ifndef PENSTOCK_CONFIG_REFERENCE_DEFAULT_TEXT_H_
#define PENSTOCK_CONFIG_REFERENCE_DEFAULT_TEXT_H_

#include <optional>
#include <string>

#include "config/keys/key.h"
#include "config/print/value_text.h"

namespace penstock {

// nullopt where leaving the key out does not stand for one value.
template <class Value, class Form>
std::optional<std::string> DefaultText(const Key& key, const Value& value, const Form& form) {
  if constexpr (PlainValue<Value, Form> && !std::same_as<Form, PemForm>) {
    constexpr bool kAlways = std::same_as<Form, FlagForm> || std::same_as<Form, ChoiceForm>;
    // Zero bytes and zero seconds are never defaults: those keys take theirs from another key.
    constexpr bool kMeasure = std::same_as<Form, SizeForm> || std::same_as<Form, TimeForm>;
    if (key.Is(kRequired)) return std::nullopt;
    if (IsUnset(value) && !kAlways && (kMeasure || key.Is(kUnlessZero))) return std::nullopt;
    std::string text = ValueText(value, form);
    if (text.empty()) return std::nullopt;
    return text;
  }
  return std::nullopt;
}
template <class Part, class Value, class Form>
std::optional<std::string> DefaultText(const Key& key, const std::optional<Part>&,
                                       const PartForm<Part, Value, Form>& form) {
  return DefaultText(key, Part{}.*form.member, form.form);
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_REFERENCE_DEFAULT_TEXT_H_
