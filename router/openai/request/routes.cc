#include "router/openai/request/routes.h"

#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

struct FixedRoute {
  absl::string_view path;
  Route route;
  Endpoint endpoint;
};

constexpr std::array<FixedRoute, 13> kFixedRoutes = {{
    {"/v1/chat/completions", Route::kGenerate, Endpoint::kChat},
    {"/v1/completions", Route::kGenerate, Endpoint::kCompletions},
    {"/v1/embeddings", Route::kGenerate, Endpoint::kEmbeddings},
    {"/v1/responses", Route::kGenerate, Endpoint::kResponses},
    {"/v1/rerank", Route::kGenerate, Endpoint::kRerank},
    {"/rerank", Route::kGenerate, Endpoint::kRerank},
    {"/v1/models", Route::kModels, Endpoint::kChat},
    {"/healthz", Route::kHealth, Endpoint::kChat},
    {"/readyz", Route::kReady, Endpoint::kChat},
    {"/health", Route::kEngineHealth, Endpoint::kChat},
    {"/ping", Route::kEngineHealth, Endpoint::kChat},
    {"/version", Route::kVersion, Endpoint::kChat},
    {"/metrics", Route::kMetrics, Endpoint::kChat},
}};
constexpr absl::string_view kModelPrefix = "/v1/models/";
constexpr absl::string_view kResponsePrefix = "/v1/responses/";

absl::string_view PathOf(absl::string_view target) {
  if (absl::StartsWithIgnoreCase(target, "http://") || absl::StartsWithIgnoreCase(target, "https://")) {
    const size_t slash = target.find('/', target.find("//") + 2);
    target = slash == absl::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find_first_of("?#"));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Nullopt when an escape is broken.
std::optional<std::string> PercentDecode(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

RouteMatch WithMethod(RouteMatch match, absl::string_view method) {
  const bool generates = match.route == Route::kGenerate;
  const bool allowed = generates ? method == "POST" : method == "GET" || method == "HEAD";
  if (!allowed) {
    match.route = Route::kWrongMethod;
    match.allow = generates ? "POST" : "GET, HEAD";
  }
  return match;
}

}  // namespace

RouteMatch MatchRoute(absl::string_view method, absl::string_view target) {
  const absl::string_view path = PathOf(target);
  for (const FixedRoute& fixed : kFixedRoutes) {
    if (path == fixed.path) return WithMethod(RouteMatch{fixed.route, fixed.endpoint, "", ""}, method);
  }
  if (absl::StartsWith(path, kModelPrefix) && path.size() > kModelPrefix.size()) {
    std::optional<std::string> name = PercentDecode(absl::StripPrefix(path, kModelPrefix));
    if (name) return WithMethod(RouteMatch{Route::kModel, Endpoint::kChat, *std::move(name), ""}, method);
  }
  if (absl::StartsWith(path, kResponsePrefix)) return RouteMatch{Route::kStoredResponse, Endpoint::kResponses, "", ""};
  return RouteMatch{};
}

absl::string_view EnginePath(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChat:
      return "/v1/chat/completions";
    case Endpoint::kCompletions:
      return "/v1/completions";
    case Endpoint::kEmbeddings:
      return "/v1/embeddings";
    case Endpoint::kResponses:
      return "/v1/responses";
    case Endpoint::kRerank:
      return "/v1/rerank";
  }
  return "/";
}

absl::string_view EndpointLabel(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChat:
      return "chat";
    case Endpoint::kCompletions:
      return "completions";
    case Endpoint::kEmbeddings:
      return "embeddings";
    case Endpoint::kResponses:
      return "responses";
    case Endpoint::kRerank:
      return "rerank";
  }
  return "other";
}

}  // namespace penstock
