// The value of `policy:` as one text: the policy that decides and, where there is one, the policy in its shadow.
//
// `round_robin shadow penstock` is the text of {decide: round_robin, shadow: penstock}. Pure.
#ifndef PENSTOCK_CONFIG_VALUES_POLICY_PAIR_H_
#define PENSTOCK_CONFIG_VALUES_POLICY_PAIR_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct PolicyPair {
  std::string decide;
  std::string shadow;  // Empty: none.
};

inline constexpr absl::string_view kShadowWord = " shadow ";

inline PolicyPair PolicyPairOf(absl::string_view text) {
  const size_t word = text.find(kShadowWord);
  if (word == absl::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, word)), std::string(text.substr(word + kShadowWord.size()))};
}

inline std::string PolicyTextOf(const PolicyPair& pair) {
  return pair.shadow.empty() ? pair.decide : absl::StrCat(pair.decide, kShadowWord, pair.shadow);
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_POLICY_PAIR_H_
