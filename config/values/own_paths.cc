#include "config/values/own_paths.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

constexpr absl::string_view kOwnPaths[] = {
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/responses/",
    "/v1/rerank",
    "/v2/rerank",
    "/rerank",
    "/v1/score",
    "/score",
    "/pooling",
    "/classify",
    "/v1/classify",
    "/v1/moderations",
    "/tokenize",
    "/v1/tokenize",
    "/detokenize",
    "/v1/detokenize",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/audio/speech",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/realtime",
    "/v1/models",
    "/v1/models/",
    "/api/version",
    "/api/tags",
    "/api/ps",
    "/api/show",
    "/api/chat",
    "/api/generate",
    "/healthz",
    "/readyz",
    "/health",
    "/ping",
    "/version",
    "/metrics",
    "/",
    "/penstock/",
};

bool Takes(absl::string_view route, absl::string_view own) {
  const bool route_below = absl::ConsumeSuffix(&route, "/*");
  const bool own_below = own.size() > 1 && absl::ConsumeSuffix(&own, "/");
  const auto below = [](absl::string_view path, absl::string_view top) {
    return path.size() > top.size() + 1 && absl::StartsWith(path, top) && path[top.size()] == '/';
  };
  if (route_below && own_below) return route == own || below(route, own) || below(own, route);
  if (route_below) return below(own, route);
  if (own_below) return below(route, own);
  return route == own;
}

}  // namespace

absl::Span<const absl::string_view> OwnPaths() { return kOwnPaths; }

absl::string_view OwnPathTaken(absl::string_view path) {
  for (const absl::string_view own : kOwnPaths) {
    if (Takes(path, own)) return own;
  }
  return "";
}

}  // namespace penstock
