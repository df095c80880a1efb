// The text of one plain value by its form. ParseConfig reads the same value back from it, secrets excepted.
#ifndef PENSTOCK_CONFIG_PRINT_VALUE_TEXT_H_
#define PENSTOCK_CONFIG_PRINT_VALUE_TEXT_H_

#include <concepts>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/units.h"
#include "config/keys/key.h"
#include "config/text/units_text.h"
#include "config/values/config_values.h"
#include "config/values/key_digest.h"

namespace penstock {

inline std::string ValueText(bool value, const FlagForm&) { return value ? "true" : "false"; }
inline std::string ValueText(double value, const NumberForm&) { return FormatNumber(value); }
inline std::string ValueText(double value, const ParametersForm&) { return FormatNumber(value); }
inline std::string ValueText(double value, const BandwidthForm&) { return FormatNumber(value) + "GB/s"; }
inline std::string ValueText(Bytes value, const SizeForm&) { return FormatSize(value); }
inline std::string ValueText(Duration value, const TimeForm&) { return FormatDuration(value); }
inline std::string ValueText(Tokens value, const CountForm&) { return absl::StrCat(value.value()); }
template <std::integral Value>
std::string ValueText(Value value, const CountForm&) {
  return absl::StrCat(value);
}
inline std::string ValueText(const std::string& value, const ChoiceForm&) { return value; }
template <class Value>
requires std::is_enum_v<Value> || std::same_as<Value, bool> std::string ValueText(Value value, const ChoiceForm& form) {
  return std::string(form.names[static_cast<size_t>(value)]);
}
inline std::string ValueText(const std::string& value, const SecretForm&) {
  return value.empty() ? "" : std::string(kHiddenSecret);
}
inline std::string ValueText(const PemFile& file, const PemForm&) { return file.path; }
// Every other form of one text.
template <class Form>
std::string ValueText(const std::string& value, const Form&) {
  return value;
}

// A form whose value is one plain text.
template <class Value, class Form>
concept PlainValue = requires(const Value& value, const Form& form) {
  { ValueText(value, form) } -> std::same_as<std::string>;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_PRINT_VALUE_TEXT_H_
