// The check of `policy:`. Policies lie above this folder, so the caller of the loader gives their names and parser.
#ifndef PENSTOCK_CONFIG_READ_POLICY_CHECK_H_
#define PENSTOCK_CONFIG_READ_POLICY_CHECK_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct PolicyCheck {
  std::vector<std::string> names;  // For the suggestion after a misspelt name.
  // Checks `name:key=value,...`; the message of an error becomes the finding. Empty: every text is accepted.
  std::function<absl::Status(absl::string_view text)> parse;
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_POLICY_CHECK_H_
