// The documents that are generated from the field lists: the JSON schema and the reference.
//
// `penstock reference schema > config/schema.json` and `penstock reference configuration > docs/configuration.md`
// write the committed files; a test fails when one is stale. Pure functions.
#ifndef PENSTOCK_CONFIG_REFERENCE_REFERENCE_H_
#define PENSTOCK_CONFIG_REFERENCE_REFERENCE_H_

#include <string>
#include <vector>

namespace penstock {

// The JSON schema (draft 2020-12) of a configuration file. `policies` are the names that `policy` can have.
std::string ConfigSchema(const std::vector<std::string>& policies);

// Every key with its form, default and effect, as Markdown.
std::string ConfigReference(const std::vector<std::string>& policies);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_REFERENCE_REFERENCE_H_
