#include "router/openai/route/routes.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "router/openai/route/target.h"

namespace penstock {
namespace {

struct FixedRoute {
  absl::string_view path;
  Route route;
  Endpoint endpoint;
};

constexpr std::array<FixedRoute, 49> kFixedRoutes = {{
    {"/v1/chat/completions", Route::kGenerate, Endpoint::kChat},
    {"/v1/completions", Route::kGenerate, Endpoint::kCompletions},
    {"/v1/embeddings", Route::kGenerate, Endpoint::kEmbeddings},
    {"/v1/responses", Route::kGenerate, Endpoint::kResponses},
    {"/v1/rerank", Route::kGenerate, Endpoint::kRerank},
    {"/v2/rerank", Route::kGenerate, Endpoint::kRerank},
    {"/rerank", Route::kGenerate, Endpoint::kRerank},
    {"/v1/score", Route::kGenerate, Endpoint::kScore},
    {"/score", Route::kGenerate, Endpoint::kScore},
    {"/pooling", Route::kGenerate, Endpoint::kPooling},
    {"/classify", Route::kGenerate, Endpoint::kClassify},
    {"/v1/classify", Route::kGenerate, Endpoint::kClassify},
    {"/v1/moderations", Route::kGenerate, Endpoint::kModerations},
    {"/tokenize", Route::kGenerate, Endpoint::kTokenize},
    {"/v1/tokenize", Route::kGenerate, Endpoint::kTokenize},
    {"/detokenize", Route::kGenerate, Endpoint::kDetokenize},
    {"/v1/detokenize", Route::kGenerate, Endpoint::kDetokenize},
    {"/v1/messages", Route::kGenerate, Endpoint::kMessages},
    {"/v1/messages/count_tokens", Route::kGenerate, Endpoint::kCountTokens},
    {"/v1/audio/transcriptions", Route::kGenerate, Endpoint::kTranscriptions},
    {"/v1/audio/translations", Route::kGenerate, Endpoint::kTranslations},
    {"/v1/audio/speech", Route::kGenerate, Endpoint::kSpeech},
    {"/v1/images/generations", Route::kGenerate, Endpoint::kImages},
    {"/v1/images/edits", Route::kGenerate, Endpoint::kImageEdits},
    {"/v1/realtime", Route::kRealtime, Endpoint::kRealtime},
    {"/api/version", Route::kOllamaPage, Endpoint::kChat},
    {"/api/tags", Route::kOllamaPage, Endpoint::kChat},
    {"/api/ps", Route::kOllamaPage, Endpoint::kChat},
    {"/api/show", Route::kOllama, Endpoint::kChat},
    {"/api/chat", Route::kOllama, Endpoint::kChat},
    {"/api/generate", Route::kOllama, Endpoint::kChat},
    {"/v1/models", Route::kModels, Endpoint::kChat},
    {"/healthz", Route::kHealth, Endpoint::kChat},
    {"/readyz", Route::kReady, Endpoint::kChat},
    {"/health", Route::kEngineHealth, Endpoint::kChat},
    {"/ping", Route::kEngineHealth, Endpoint::kChat},
    {"/version", Route::kVersion, Endpoint::kChat},
    {"/metrics", Route::kMetrics, Endpoint::kChat},
    {"/", Route::kPage, Endpoint::kChat},
    {"/penstock/", Route::kPage, Endpoint::kChat},
    {"/penstock/page.css", Route::kPage, Endpoint::kChat},
    {"/penstock/page.js", Route::kPage, Endpoint::kChat},
    {"/penstock/openapi.json", Route::kPage, Endpoint::kChat},
    {"/penstock/fleet", Route::kPage, Endpoint::kChat},
    {"/penstock/requests", Route::kPage, Endpoint::kChat},
    {"/penstock/tenants", Route::kPage, Endpoint::kChat},
    {"/penstock/shadow", Route::kPage, Endpoint::kChat},
    {"/penstock/state", Route::kPage, Endpoint::kChat},
    {"/penstock/events", Route::kPage, Endpoint::kChat},
}};
constexpr absl::string_view kModelPrefix = "/v1/models/";
constexpr absl::string_view kResponsePrefix = "/v1/responses/";
constexpr absl::string_view kFilePrefix = "/v1/files/";
constexpr absl::string_view kBatchPrefix = "/v1/batches/";
constexpr absl::string_view kReading = "GET, HEAD";

RouteMatch WithMethod(RouteMatch match, absl::string_view method, absl::string_view methods) {
  match.admin = match.route == Route::kHealth || match.route == Route::kReady || match.route == Route::kMetrics ||
                match.route == Route::kPage;
  if (IsListed(methods, method)) return match;
  match.route = Route::kWrongMethod;
  match.allow = std::string(methods);
  return match;
}

// ID, ID/cancel or ID/input_items.
absl::string_view MethodsOfStored(absl::string_view path) {
  if (absl::EndsWith(path, "/cancel")) return "POST";
  return absl::EndsWith(path, "/input_items") ? "GET, HEAD" : "GET, HEAD, DELETE";
}

absl::string_view IdOfStored(absl::string_view path) {
  path = absl::StripPrefix(path, kResponsePrefix);
  if (!absl::ConsumeSuffix(&path, "/cancel")) absl::ConsumeSuffix(&path, "/input_items");
  return path;
}

// A file, its content, a batch or its end; `id` may have any characters but a slash.
std::optional<RouteMatch> MatchJob(absl::string_view method, absl::string_view path) {
  RouteMatch match;
  absl::string_view methods = kReading;
  absl::string_view id;
  if (path == "/v1/files" || path == "/v1/batches") {
    match.route = path == "/v1/files" ? Route::kFiles : Route::kBatches;
    return WithMethod(std::move(match), method, "GET, HEAD, POST");
  }
  if (absl::StartsWith(path, kFilePrefix)) {
    id = absl::StripPrefix(path, kFilePrefix);
    const bool content = absl::ConsumeSuffix(&id, "/content");
    match.route = content ? Route::kFileContent : Route::kFile;
    methods = content ? kReading : "GET, HEAD, DELETE";
  } else if (absl::StartsWith(path, kBatchPrefix)) {
    id = absl::StripPrefix(path, kBatchPrefix);
    const bool cancel = absl::ConsumeSuffix(&id, "/cancel");
    match.route = cancel ? Route::kBatchCancel : Route::kBatch;
    methods = cancel ? "POST" : kReading;
  }
  if (id.empty() || id.find('/') != absl::string_view::npos) return std::nullopt;
  std::optional<std::string> decoded = PercentDecode(id);
  if (!decoded) return std::nullopt;
  match.id = *std::move(decoded);
  return WithMethod(std::move(match), method, methods);
}

}  // namespace

bool IsListed(absl::string_view methods, absl::string_view method) {
  constexpr absl::string_view kBetween = ", ";
  while (true) {
    const size_t end = methods.find(kBetween);
    if (methods.substr(0, end) == method) return true;
    if (end == absl::string_view::npos) return false;
    methods.remove_prefix(end + kBetween.size());
  }
}

bool SpeaksOllama(absl::string_view target) { return absl::StartsWith(PathOf(target), "/api/"); }

bool SpeaksAnthropic(absl::string_view target) {
  const absl::string_view path = PathOf(target);
  return path == TraitsOf(Endpoint::kMessages).path || absl::StartsWith(path, "/v1/messages/");
}

RouteMatch MatchRoute(absl::string_view method, absl::string_view target) {
  const absl::string_view path = PathOf(target);
  for (const FixedRoute& fixed : kFixedRoutes) {
    if (path != fixed.path) continue;
    const bool ollama = fixed.route == Route::kOllama;
    RouteMatch match;
    match.route = fixed.route;
    match.endpoint = fixed.endpoint;
    if (fixed.route == Route::kPage || fixed.route == Route::kOllamaPage || ollama) {
      match.page = fixed.path.substr(fixed.path.rfind('/') + 1);
    }
    const bool posts = ollama || fixed.route == Route::kGenerate;
    const bool gets = fixed.route == Route::kRealtime;
    return WithMethod(std::move(match), method, posts ? "POST" : gets ? "GET" : kReading);
  }
  if (absl::StartsWith(path, kModelPrefix) && path.size() > kModelPrefix.size()) {
    std::optional<std::string> name = PercentDecode(absl::StripPrefix(path, kModelPrefix));
    RouteMatch match;
    match.route = Route::kModel;
    if (name) match.model = *std::move(name);
    if (name) return WithMethod(std::move(match), method, kReading);
  }
  if (absl::StartsWith(path, kResponsePrefix) && path.size() > kResponsePrefix.size()) {
    RouteMatch match;
    match.route = Route::kStoredResponse;
    match.endpoint = Endpoint::kStoredResponse;
    match.id = std::string(IdOfStored(path));
    return WithMethod(std::move(match), method, MethodsOfStored(path));
  }
  return MatchJob(method, path).value_or(RouteMatch{});
}

}  // namespace penstock
