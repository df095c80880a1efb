#include "router/http/pages/ollama_text.h"

#include "absl/strings/str_cat.h"
#include "router/openai/error/api_error.h"

namespace penstock {
namespace {

std::string NamesOf(absl::string_view name) {
  return absl::StrCat("{\"name\":", JsonQuote(name), ",\"model\":", JsonQuote(name));
}

}  // namespace

std::string OllamaTime(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()); }

std::string OllamaTag(absl::string_view name, absl::string_view since) {
  return absl::StrCat(NamesOf(name), ",\"modified_at\":\"", since, "\",\"size\":0,\"digest\":\"\",", kOllamaDetails,
                      "}");
}

std::string OllamaRunning(absl::string_view name, Tokens context) {
  return absl::StrCat(NamesOf(name), ",\"size\":0,\"digest\":\"\",", kOllamaDetails,
                      ",\"expires_at\":\"9999-12-31T23:59:59Z\",\"size_vram\":0,\"context_length\":", context.value(),
                      "}");
}

}  // namespace penstock
