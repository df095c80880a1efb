// One setting of a policy: its key, default, bounds and meaning.
//
// A setting is a number, one word of a list, or several words joined by +. Its value is always a double: the number,
// the position of the word, or a sum of powers of two with one bit per word. Values; immutable after start-up.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_POLICY_SETTING_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_POLICY_SETTING_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

struct PolicySetting {
  std::string key;
  double default_value = 0;  // The default of the project that the policy follows.
  double least = 0;
  double most = 0;
  bool whole = false;              // Only whole numbers are valid.
  std::vector<std::string> words;  // Empty: the setting is a number.
  bool several = false;            // The value may join several words by +.
  std::string meaning;             // With the unit of a number; one clause of the documentation.
};

PolicySetting NumberSetting(std::string key, double default_value, double least, double most, std::string meaning);
PolicySetting WholeSetting(std::string key, double default_value, double least, double most, std::string meaning);
// One of `words`; the first word is the default.
PolicySetting WordSetting(std::string key, std::vector<std::string> words, std::string meaning);
// Any of `words`, joined by +; none is the default.
PolicySetting WordsSetting(std::string key, std::vector<std::string> words, std::string meaning);

// The value that `text` gives the setting; nullopt where the text is invalid or out of bounds.
std::optional<double> ReadSettingValue(const PolicySetting& setting, absl::string_view text);
// The valid values, for an error message: "a number from 0 to 1".
std::string BoundsText(const PolicySetting& setting);
// The words that a value of a setting with `several` stands for, in the order of the setting.
std::vector<std::string> WordsOf(const PolicySetting& setting, double value);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_POLICY_SETTING_H_
