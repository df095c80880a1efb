// Each form as a JSON schema. Private to config/ (it exposes nlohmann-json).
#ifndef PENSTOCK_CONFIG_REFERENCE_FORM_SCHEMA_H_
#define PENSTOCK_CONFIG_REFERENCE_FORM_SCHEMA_H_

#include <nlohmann/json.hpp>

#include "config/keys/key.h"

namespace penstock {

using Schema = nlohmann::ordered_json;

// The definitions that the schemas below refer to: size, duration, count, parameters.
Schema SharedDefinitions();

Schema TextSchema();
Schema SchemaOf(const HeaderNameForm&);
Schema SchemaOf(const HeaderNamesForm&);
Schema SchemaOf(const ProxiesForm&);
Schema SchemaOf(const NameForm&);
Schema SchemaOf(const FilledTextForm&);
Schema SchemaOf(const PathForm&);
Schema SchemaOf(const TextsForm&);
Schema SchemaOf(const ApiKeysForm&);
Schema SchemaOf(const TextMapForm&);
Schema SchemaOf(const SecretMapForm&);
Schema SchemaOf(const FlagForm&);
Schema SchemaOf(const CountForm& form);
Schema SchemaOf(const NumberForm& form);
Schema SchemaOf(const SizeForm&);
Schema SchemaOf(const TimeForm&);
Schema SchemaOf(const ParametersForm&);
Schema SchemaOf(const BandwidthForm&);
Schema SchemaOf(const ChoiceForm& form);
inline Schema SchemaOf(const KindMemoryForm& form) { return SchemaOf(form.size); }
// Every other form of one text.
template <class Form>
Schema SchemaOf(const Form&) {
  return TextSchema();
}
template <class Part, class Value, class Form>
Schema SchemaOf(const PartForm<Part, Value, Form>& form) {
  return SchemaOf(form.form);
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_REFERENCE_FORM_SCHEMA_H_
