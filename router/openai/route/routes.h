// The meaning of each path and method. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_ROUTE_ROUTES_H_
#define PENSTOCK_ROUTER_OPENAI_ROUTE_ROUTES_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "config/values/client_config.h"

namespace penstock {

enum class Route {
  kGenerate,  // An engine's work; `endpoint` tells which.
  kModels,
  kModel,  // One model; `model` is its decoded name.
  kHealth,
  kReady,
  kEngineHealth,  // /health and /ping of an engine, which clients ask: kReady, for clients.
  kVersion,
  kMetrics,
  kPage,            // A part of the page; `page` is its name.
  kStoredResponse,  // One response that an engine has stored; `id` is the id as it stands in the path.
  kPassed,          // A path of the configuration; `passed` is its rule.
  kOllamaPage,      // A list of Ollama's own API; `page` is its name.
  kOllama,          // A request in Ollama's own dialect; `page` is its name.
  kFiles,           // The files of jobs.
  kFile,            // One of them; `id` names it.
  kFileContent,
  kBatches,
  kBatch,  // One batch; `id` names it.
  kBatchCancel,
  kRealtime,  // A WebSocket of an engine.
  kNotFound,
  kWrongMethod,  // The path exists; `allow` lists its methods.
};

struct RouteMatch {
  Route route = Route::kNotFound;
  Endpoint endpoint = Endpoint::kChat;
  std::string model;
  std::string id;  // Decoded, but for a stored response.
  std::string allow;
  absl::string_view page;  // The last part of a path below /penstock/ or /api/; empty: the page itself.
  std::shared_ptr<const RouteConfig> passed;
  bool admin = false;  // The path is one of health, readiness, metrics and the page, whatever the method.
};

// `target` may carry a query, which is ignored, or be in absolute form.
RouteMatch MatchRoute(absl::string_view method, absl::string_view target);

// True of "GET" in "GET, HEAD".
bool IsListed(absl::string_view methods, absl::string_view method);

// Its clients understand errors in Ollama's form, whether or not there is such a path.
bool SpeaksOllama(absl::string_view target);

// Its clients understand errors in Anthropic's form, whether or not there is such a path.
bool SpeaksAnthropic(absl::string_view target);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ROUTE_ROUTES_H_
