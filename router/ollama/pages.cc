#include "router/ollama/pages.h"

#include "absl/strings/str_cat.h"
#include "router/http/pages/ollama_text.h"
#include "router/openai/error/api_error.h"

namespace penstock::ollama {
namespace {

int64_t ContextOf(const FleetView& fleet, absl::string_view name) {
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  return model ? fleet.book.MaxContext(*model).value() : 0;
}

}  // namespace

std::string VersionJson(absl::string_view version) {
  return absl::StrCat("{\"version\":\"", kDialect, "\",\"penstock\":", JsonQuote(version), "}");
}

std::string ShowJson(const FleetView& fleet, absl::string_view name, absl::string_view since) {
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  const ModelAccess* access = model ? fleet.AccessOf(*model) : nullptr;
  std::string abilities;
  const auto add = [&abilities](absl::string_view ability) {
    absl::StrAppend(&abilities, abilities.empty() ? "" : ",", "\"", ability, "\"");
  };
  if (access == nullptr || !access->all_known || access->endpoints.Has(Endpoint::kChat)) add("completion");
  if (access != nullptr && access->all_known && access->endpoints.Has(Endpoint::kEmbeddings)) add("embedding");
  std::string context;
  if (const int64_t tokens = ContextOf(fleet, name); tokens > 0) {
    context = absl::StrCat(",\"penstock.context_length\":", tokens);
  }
  return absl::StrCat("{\"modelfile\":\"\",\"parameters\":\"\",\"template\":\"\",\"modified_at\":\"", since, "\",",
                      kOllamaDetails, ",\"model_info\":{\"general.architecture\":\"penstock\"", context,
                      "},\"capabilities\":[", abilities, "]}");
}

}  // namespace penstock::ollama
