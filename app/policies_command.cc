// `penstock policies`: the declarations of router/policies as names, JSON or docs/policies.md.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "router/policies/policy_document.h"
#include "router/policies/registry.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

const char* NameOf(PolicyOrigin origin) {
  switch (origin) {
    case PolicyOrigin::kOwn:
      return "own";
    case PolicyOrigin::kShipping:
      return "shipping";
    case PolicyOrigin::kStudied:
      break;
  }
  return "studied";
}

ordered_json JsonOf(const PolicySetting& setting) {
  ordered_json json = {{"key", setting.key}, {"default", DefaultText(setting)}, {"meaning", setting.meaning}};
  if (setting.words.empty()) {
    json["least"] = setting.least;
    json["most"] = setting.most;
    json["whole"] = setting.whole;
  } else {
    json["words"] = setting.words;
    json["several"] = setting.several;
  }
  return json;
}

ordered_json JsonOf(const PolicyDeclaration& policy) {
  ordered_json settings = ordered_json::array();
  for (const PolicySetting& setting : policy.settings) settings.push_back(JsonOf(setting));
  return {{"name", policy.name},
          {"origin", NameOf(policy.origin)},
          {"source", policy.text.source},
          {"rule", policy.text.rule},
          {"sees", policy.text.sees},
          {"refuses", policy.text.refuses},
          {"settings", std::move(settings)},
          {"alternatives", policy.alternatives},
          {"report_period_ms", policy.report_period.milliseconds()}};
}

std::string AllAsJson() {
  ordered_json all = ordered_json::array();
  for (const PolicyDeclaration& policy : AllPolicies()) all.push_back(JsonOf(policy));
  return all.dump(2) + "\n";
}

std::string AllAsText() {
  std::string text;
  for (const PolicyDeclaration& policy : AllPolicies()) {
    text += policy.name + ": " + policy.text.rule + "\n";
    for (const PolicySetting& setting : policy.settings) text += "  " + setting.key + ": " + setting.meaning + "\n";
  }
  return text;
}

}  // namespace

int RunPolicies(const PoliciesOptions& options) {
  std::cout << (options.json ? AllAsJson() : options.markdown ? PolicyDocument() : AllAsText()) << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace penstock
