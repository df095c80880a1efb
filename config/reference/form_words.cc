#include "config/reference/form_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/text/units_text.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {
namespace {

std::string KindNames() {
  return absl::StrJoin(GpuKinds(), " ", [](std::string* out, const GpuKind& kind) { out->append(kind.name); });
}

}  // namespace

std::string WordsOf(const TextForm&) { return "text"; }
std::string WordsOf(const NameForm&) { return "name without spaces"; }
std::string WordsOf(const FilledTextForm&) { return "text, not empty"; }
std::string WordsOf(const PathForm&) { return "path"; }
std::string WordsOf(const ListenForm&) {
  return "HOST:PORT or unix:/PATH; no HOST is every IPv4 interface, port 0 a free one";
}
std::string WordsOf(const EngineUrlForm&) { return "http[s]://HOST[:PORT][/BASE] or unix:/PATH"; }
std::string WordsOf(const HeaderNameForm&) { return "name of a header"; }
std::string WordsOf(const HeaderNamesForm&) { return "list of names of headers"; }
std::string WordsOf(const ProxiesForm&) { return "list of IP addresses, ranges such as 10.0.0.0/8, and unix"; }
std::string WordsOf(const PolicyForm&) { return "NAME or NAME:SETTING=VALUE,..., or {decide: POLICY, shadow: POLICY}"; }
std::string WordsOf(const SecretForm&) { return "`${NAME}` or `file:PATH`"; }
std::string WordsOf(const PemForm&) { return "path of a PEM file, relative to this file"; }
std::string WordsOf(const TextsForm&) { return "list of texts"; }
std::string WordsOf(const ApiKeysForm&) {
  return "list of `${NAME}`, `file:PATH` or `sha256:` with 64 hexadecimal digits";
}
std::string WordsOf(const SecretMapForm&) { return "mapping of header names to `${NAME}` or `file:PATH`"; }
std::string WordsOf(const TextMapForm&) { return "mapping of texts to texts"; }
std::string WordsOf(const FlagForm&) { return "true or false"; }
std::string WordsOf(const CountForm& form) { return absl::StrCat("whole number, ", form.lowest, " to ", form.highest); }
std::string WordsOf(const NumberForm& form) {
  return absl::StrCat("number, ", FormatNumber(form.lowest), " to ", FormatNumber(form.highest));
}
std::string WordsOf(const SizeForm& form) {
  return absl::StrCat("size, ", FormatSize(form.lowest), " to ", FormatSize(form.highest));
}
std::string WordsOf(const TimeForm& form) {
  return absl::StrCat("duration, ", FormatDuration(form.lowest), " to ", FormatDuration(form.highest));
}
std::string WordsOf(const ParametersForm&) { return "number of parameters, as 8.03B"; }
std::string WordsOf(const BandwidthForm& form) {
  return absl::StrCat("bandwidth, ", FormatNumber(form.lowest), "GB/s to ", FormatNumber(form.highest), "GB/s");
}
std::string WordsOf(const ChoiceForm& form) { return absl::StrCat("one of ", absl::StrJoin(form.names, " ")); }
std::string WordsOf(const KindForm&) { return absl::StrCat("one of ", KindNames()); }
std::string WordsOf(const KindMemoryForm& form) { return WordsOf(form.size); }
std::string WordsOf(const ShapeForm&) { return "built-in shape, or path of a .json file relative to this file"; }

}  // namespace penstock
