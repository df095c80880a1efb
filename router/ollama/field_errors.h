// The errors about fields of a request in Ollama's own dialect. Pure.
#ifndef PENSTOCK_ROUTER_OLLAMA_FIELD_ERRORS_H_
#define PENSTOCK_ROUTER_OLLAMA_FIELD_ERRORS_H_

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "router/openai/error/api_error.h"

namespace penstock::ollama {

// A longer list of options or calls would hold its loop.
inline constexpr size_t kLongestPart = 256 << 10;

inline ApiError WrongField(absl::string_view field, absl::string_view expected) {
  return MakeError(ErrorName::kWrongType, absl::StrCat("`", field, "` must be ", expected, "."), field);
}

inline ApiError TooLong(absl::string_view field, size_t most = kLongestPart) {
  return MakeError(ErrorName::kInvalidValue, absl::StrCat("`", field, "` must be at most ", most, " bytes long."),
                   field);
}

}  // namespace penstock::ollama

#endif  // PENSTOCK_ROUTER_OLLAMA_FIELD_ERRORS_H_
