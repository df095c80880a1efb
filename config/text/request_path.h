// The path of a request at the end of a URL, as examples with curl have it. Pure.
#ifndef PENSTOCK_CONFIG_TEXT_REQUEST_PATH_H_
#define PENSTOCK_CONFIG_TEXT_REQUEST_PATH_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace penstock {

// Empty: there is none.
inline absl::string_view RequestPath(absl::string_view path) {
  while (absl::ConsumeSuffix(&path, "/")) continue;
  for (const absl::string_view known :
       {"/v1/chat/completions", "/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses",
        "/v1/messages", "/v1/models", "/api/chat", "/api/generate"}) {
    if (absl::EndsWith(path, known)) return known;
  }
  return "";
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_TEXT_REQUEST_PATH_H_
