// Parsers and checks of command line options, for CLI11.
#ifndef PENSTOCK_APP_OPTION_PARSERS_H_
#define PENSTOCK_APP_OPTION_PARSERS_H_

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/text/units_text.h"

namespace penstock {

// `option` may be empty: the fault is that of the whole command line.
[[noreturn]] inline void Reject(const std::string& option, absl::string_view why) {
  if (option.empty()) throw CLI::ValidationError(std::string(why));
  throw CLI::ValidationError(option, std::string(why));
}

// An option whose text one of the parsers of config/text/units_text.h reads.
template <class T, class Target>
CLI::Option* AddParsed(CLI::App* command, const std::string& name, absl::StatusOr<T> (*parse)(absl::string_view),
                       Target* target, const std::string& help, const std::string& type) {
  const auto take = [name, parse, target](const std::string& text) {
    const absl::StatusOr<T> value = parse(text);
    if (!value.ok()) Reject(name, value.status().message());
    *target = *value;
  };
  return command->add_option_function<std::string>(name, take, help)->type_name(type);
}

inline absl::StatusOr<Tokens> ParseTokens(absl::string_view text) {
  const absl::StatusOr<int64_t> count = ParseCount(text);
  if (!count.ok()) return count.status();
  if (*count < 1) return absl::InvalidArgumentError("must be at least 1");
  return Tokens(*count);
}

// A duration above zero, with a unit as in a configuration.
inline absl::StatusOr<Duration> ParseSpan(absl::string_view text) {
  absl::StatusOr<Duration> span = ParseDuration(text);
  if (span.ok() && *span <= Duration()) return absl::InvalidArgumentError("must be above zero");
  return span;
}

// The pairs A=B of --map.
inline void TakeMap(const std::vector<std::string>& pairs, std::map<std::string, std::string>& map) {
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals + 1 == pair.size()) Reject("--map", "\"" + pair + "\" is not A=B");
    map[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
}

inline CLI::Validator Valid(auto parse, const char* form) {
  const auto complaint = [parse](const std::string& text) { return std::string(parse(text).status().message()); };
  return CLI::Validator(complaint, form);
}

// CLI11 takes the largest number for one that is too large.
inline std::string NoSeed(const std::string& text) {
  uint64_t seed = 0;
  return absl::SimpleAtoi(text, &seed) ? "" : text + " is not a whole number from 0 to 18446744073709551615";
}

// CLI::Range without NaN, which it lets pass.
inline CLI::Validator Between(double low, double high) {
  CLI::Validator validator = CLI::Range(low, high);
  return CLI::Validator(
      [validator, low, high](std::string& text) {
        double value = 0;
        if (absl::SimpleAtod(text, &value) && std::isnan(value))
          return absl::StrFormat("Value %s not in range [%g - %g]", text, low, high);
        return validator(text);
      },
      validator.get_description());
}

}  // namespace penstock

#endif  // PENSTOCK_APP_OPTION_PARSERS_H_
