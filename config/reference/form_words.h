// Each form in words, for the reference: "a size from 1kB to 4GiB".
#ifndef PENSTOCK_CONFIG_REFERENCE_FORM_WORDS_H_
#define PENSTOCK_CONFIG_REFERENCE_FORM_WORDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/keys/key.h"

namespace penstock {

std::string WordsOf(const TextForm&);
std::string WordsOf(const NameForm&);
std::string WordsOf(const FilledTextForm&);
std::string WordsOf(const PathForm&);
std::string WordsOf(const ListenForm&);
std::string WordsOf(const EngineUrlForm&);
std::string WordsOf(const HeaderNameForm&);
std::string WordsOf(const HeaderNamesForm&);
std::string WordsOf(const ProxiesForm&);
std::string WordsOf(const PolicyForm&);
std::string WordsOf(const SecretForm&);
std::string WordsOf(const PemForm&);
std::string WordsOf(const TextsForm&);
std::string WordsOf(const ApiKeysForm&);
std::string WordsOf(const TextMapForm&);
std::string WordsOf(const SecretMapForm&);
std::string WordsOf(const FlagForm&);
std::string WordsOf(const CountForm& form);
std::string WordsOf(const NumberForm& form);
std::string WordsOf(const SizeForm& form);
std::string WordsOf(const TimeForm& form);
std::string WordsOf(const ParametersForm&);
std::string WordsOf(const BandwidthForm& form);
std::string WordsOf(const ChoiceForm& form);
std::string WordsOf(const KindForm&);
std::string WordsOf(const KindMemoryForm& form);
std::string WordsOf(const ShapeForm&);
template <class Part, class Value, class Form>
std::string WordsOf(const PartForm<Part, Value, Form>& form) {
  return WordsOf(form.form);
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_REFERENCE_FORM_WORDS_H_
