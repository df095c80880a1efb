// The one YAML document of a configuration file.
#ifndef PENSTOCK_CONFIG_READ_YAML_DOCUMENT_H_
#define PENSTOCK_CONFIG_READ_YAML_DOCUMENT_H_

#include <yaml-cpp/yaml.h>

#include <optional>

#include "absl/strings/string_view.h"
#include "config/text/findings.h"

namespace penstock {

// The root node; nullopt, with a finding, for text that is not UTF-8 or not YAML, for an empty file and for a second
// document.
std::optional<YAML::Node> ReadYamlDocument(absl::string_view yaml, Findings& findings);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_YAML_DOCUMENT_H_
