#include "router/policies/policy_document.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "router/policies/registry.h"

namespace penstock {
namespace {

constexpr const char* kIntroduction = R"(# Policies

<!-- Generated from the declarations in router/policies. After a change: penstock policies --markdown > docs/policies.md -->

A policy decides when a request goes to which replica. `penstock` is the product's policy. The others are rivals: rules
that people put in front of their engines today. Each is another implementation of the decision core's interface.
`policy:` in the configuration runs a policy live; `penstock simulate --policy` runs it on a recorded trace.

A rival follows its project's documentation at its defaults. The full rule, the source file and the decisions behind it
stand at the head of its file under `router/policies/`. A rival sees what a router sees: the last reports of the engines,
however old, and its own forwards, first tokens, token counts and ends. It knows no output length and no step time.

A policy is written `name` or `name:setting=value,setting=value`, as in `policy: least_load:veto=0.95`. Unknown settings
and values out of range are errors. `penstock policies` lists the same names; `--json` prints all declarations.

)";

constexpr const char* kCommon = R"(
Common to all policies:

* A policy refuses unknown models, prompts that can never fit, and requests beyond a full queue, as Penstock does.
* A request is refused after the queue time of its class.
* A replica that comes back gets one request at a time until it has proved itself.
* A policy that never holds a request forwards it within its own event.
* A rival wakes no replica: `check` warns of one beside `sleep`, and a simulation of such a fleet ends with an error.

*Reports* is the time between two reports of an engine in a simulation: the default of the project, or 250 ms where it
documents none. *Refuses* names the refusals of a policy beyond these. *Late* means that the first token could no longer be in time on
the fastest idle replica of the model. *Added* marks a refusal that the source of the rule does not have.
)";

std::string Plain(double value) { return absl::StrFormat("%.12g", value); }

std::string Codes(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ",
                       [](std::string* out, const std::string& word) { absl::StrAppend(out, "`", word, "`"); });
}

// Sentences of words, none of them long.
std::string AnyOf(const std::vector<std::string>& words) {
  constexpr size_t kMost = 20;
  std::vector<std::string> sentences;
  for (size_t i = 0; i < words.size(); i += kMost) {
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), i + kMost));
    sentences.push_back(absl::StrCat(i == 0 ? "Any of " : "Also ", Codes({first, last})));
  }
  return absl::StrJoin(sentences, ". ");
}

std::string ValuesText(const PolicySetting& setting) {
  if (setting.several) return absl::StrCat("several, joined by `+`. ", AnyOf(setting.words));
  if (!setting.words.empty()) return Codes(setting.words);
  return absl::StrCat(Plain(setting.least), " to ", Plain(setting.most), setting.whole ? ", whole" : "");
}

std::string Row(const PolicyDeclaration& policy) {
  return absl::StrCat("| [`", policy.name, "`](#", policy.name, ") | ", policy.text.source, " | ", policy.text.rule,
                      " | ", policy.text.refuses, " |\n");
}

std::string Section(const PolicyDeclaration& policy) {
  std::string text =
      absl::StrCat("\n## `", policy.name, "`\n\n* Source: ", policy.text.source, "\n* Rule: ", policy.text.rule,
                   "\n* Sees: ", policy.text.sees, "\n* Reports: every ", Plain(policy.report_period.seconds() * 1000),
                   " ms\n* Refuses: ", policy.text.refuses, "\n");
  if (!policy.text.notes.empty()) absl::StrAppend(&text, "\n", policy.text.notes, "\n");
  if (policy.settings.empty()) return text + "\nThe policy has no settings.\n";
  absl::StrAppend(&text, "\n| setting | default | values | meaning |\n|---|---|---|---|\n");
  for (const PolicySetting& setting : policy.settings) {
    absl::StrAppend(&text, "| `", setting.key, "` | ",
                    setting.several ? "none" : absl::StrCat("`", DefaultText(setting), "`"), " | ", ValuesText(setting),
                    " | ", setting.meaning, " |\n");
  }
  if (!policy.alternatives.empty()) {
    absl::StrAppend(&text, "\nDocumented alternatives: ", Codes(policy.alternatives), "\n");
  }
  return text;
}

}  // namespace

std::string DefaultText(const PolicySetting& setting) {
  if (setting.several) return "none";
  return setting.words.empty() ? Plain(setting.default_value) : setting.words.front();
}

std::string PolicyDocument() {
  std::string text = absl::StrCat(kIntroduction, "| policy | source | rule | refuses |\n|---|---|---|---|\n");
  for (const PolicyDeclaration& policy : AllPolicies()) text += Row(policy);
  text += kCommon;
  for (const PolicyDeclaration& policy : AllPolicies()) text += Section(policy);
  return text;
}

}  // namespace penstock
