// The value of a header with parameters: VALUE; NAME=TOKEN; NAME="TEXT". Pure.
#ifndef PENSTOCK_ROUTER_MULTIPART_HEADER_PARAMETERS_H_
#define PENSTOCK_ROUTER_MULTIPART_HEADER_PARAMETERS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// A parameter that cannot be read ends the list. Names are compared without case.
class HeaderParameters {
 public:
  static constexpr size_t kMaxParameters = 16;

  explicit HeaderParameters(absl::string_view header);

  // Before the first semicolon.
  absl::string_view value() const { return value_; }
  // The first one of the name.
  std::optional<std::string> Find(absl::string_view name) const;
  // NAME* of RFC 5987 in UTF-8 where it is there, else NAME.
  std::optional<std::string> FindExtended(absl::string_view name) const;

 private:
  absl::string_view value_;
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_MULTIPART_HEADER_PARAMETERS_H_
