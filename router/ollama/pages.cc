#include "router/ollama/pages.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "router/http/pages/model_list.h"
#include "router/openai/error/api_error.h"

namespace penstock::ollama {
namespace {

constexpr absl::string_view kTag = ":latest";
constexpr absl::string_view kDetails =
    "\"details\":{\"parent_model\":\"\",\"format\":\"\",\"family\":\"\",\"families\":[],\"parameter_size\":\"\","
    "\"quantization_level\":\"\"}";

std::string NamesOf(absl::string_view name) {
  return absl::StrCat("{\"name\":", JsonQuote(name), ",\"model\":", JsonQuote(name));
}

int64_t ContextOf(const FleetView& fleet, absl::string_view name) {
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  return model ? fleet.book.MaxContext(*model).value() : 0;
}

}  // namespace

std::optional<std::string> ModelMeant(const FleetView& fleet, absl::string_view name) {
  if (fleet.book.ModelByName(name)) return std::string(name);
  absl::string_view plain = name;
  if (absl::ConsumeSuffix(&plain, kTag) && fleet.book.ModelByName(plain)) return std::string(plain);
  std::string tagged = absl::StrCat(name, kTag);
  if (!absl::StrContains(name, ":") && fleet.book.ModelByName(tagged)) return tagged;
  return std::nullopt;
}

std::string VersionJson(absl::string_view version) {
  return absl::StrCat("{\"version\":\"", kDialect, "\",\"penstock\":", JsonQuote(version), "}");
}

std::string TagsJson(const FleetView& fleet, absl::string_view since) {
  std::string json = "{\"models\":[";
  const char* comma = "";
  for (const std::string& name : fleet.book.ModelNames()) {
    absl::StrAppend(&json, comma, NamesOf(name), ",\"modified_at\":\"", since, "\",\"size\":0,\"digest\":\"\",",
                    kDetails, "}");
    comma = ",";
  }
  return json + "]}";
}

std::string RunningJson(const FleetView& fleet, const CoreView& view) {
  std::string json = "{\"models\":[";
  const char* comma = "";
  for (const std::string& name : fleet.book.ModelNames()) {
    const std::optional<ModelId> model = fleet.book.ModelByName(name);
    if (!model || StateOf(fleet, view, *model) != ModelState::kUp) continue;
    absl::StrAppend(
        &json, comma, NamesOf(name), ",\"size\":0,\"digest\":\"\",", kDetails,
        ",\"expires_at\":\"9999-12-31T23:59:59Z\",\"size_vram\":0,\"context_length\":", ContextOf(fleet, name), "}");
    comma = ",";
  }
  return json + "]}";
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
                      kDetails, ",\"model_info\":{\"general.architecture\":\"penstock\"", context,
                      "},\"capabilities\":[", abilities, "]}");
}

}  // namespace penstock::ollama
