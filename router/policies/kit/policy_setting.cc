#include "router/policies/kit/policy_setting.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

std::optional<double> PositionOf(const std::vector<std::string>& words, absl::string_view text) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) return std::nullopt;
  return static_cast<double>(found - words.begin());
}

std::optional<double> SumOf(const std::vector<std::string>& words, absl::string_view text) {
  std::vector<bool> given(words.size());
  double sum = 0;
  for (absl::string_view word : absl::StrSplit(text, '+')) {
    const std::optional<double> position = PositionOf(words, word);
    if (!position || given[static_cast<size_t>(*position)]) return std::nullopt;
    given[static_cast<size_t>(*position)] = true;
    sum += std::exp2(*position);
  }
  return sum;
}

}  // namespace

PolicySetting NumberSetting(std::string key, double default_value, double least, double most, std::string meaning) {
  return {std::move(key), default_value, least, most, false, {}, false, std::move(meaning)};
}

PolicySetting WholeSetting(std::string key, double default_value, double least, double most, std::string meaning) {
  return {std::move(key), default_value, least, most, true, {}, false, std::move(meaning)};
}

PolicySetting WordSetting(std::string key, std::vector<std::string> words, std::string meaning) {
  const double most = static_cast<double>(words.size()) - 1;
  return {std::move(key), 0, 0, most, true, std::move(words), false, std::move(meaning)};
}

PolicySetting WordsSetting(std::string key, std::vector<std::string> words, std::string meaning) {
  const double most = std::exp2(static_cast<double>(words.size())) - 1;
  return {std::move(key), 0, 0, most, true, std::move(words), true, std::move(meaning)};
}

std::optional<double> ReadSettingValue(const PolicySetting& setting, absl::string_view text) {
  if (setting.several) return SumOf(setting.words, text);
  if (!setting.words.empty()) return PositionOf(setting.words, text);
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= setting.least && value <= setting.most)) return std::nullopt;
  if (setting.whole && value != std::floor(value)) return std::nullopt;
  return value;
}

std::string BoundsText(const PolicySetting& setting) {
  if (setting.several) return absl::StrCat("some of ", absl::StrJoin(setting.words, " "), ", joined by +");
  if (!setting.words.empty()) return absl::StrCat("one of ", absl::StrJoin(setting.words, " "));
  return absl::StrCat(setting.whole ? "a whole number" : "a number", " from ", setting.least, " to ", setting.most);
}

std::vector<std::string> WordsOf(const PolicySetting& setting, double value) {
  std::vector<std::string> words;
  const auto bits = static_cast<uint64_t>(value);
  for (size_t i = 0; i < setting.words.size(); ++i) {
    if ((bits >> i & 1) != 0) words.push_back(setting.words[i]);
  }
  return words;
}

}  // namespace penstock
