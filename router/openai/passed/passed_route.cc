#include "router/openai/passed/passed_route.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "router/openai/route/target.h"

namespace penstock {
namespace {

// Parts like these would leave the paths of the rule at an engine that resolves them.
bool Climbs(absl::string_view path) {
  const std::optional<std::string> decoded = PercentDecode(path);
  if (!decoded || absl::StrContains(*decoded, "\\")) return true;
  for (const absl::string_view part : absl::StrSplit(*decoded, '/')) {
    if (part == "." || part == "..") return true;
  }
  return false;
}

bool IsBelow(absl::string_view path, absl::string_view top) {
  return path.size() > top.size() + 1 && absl::StartsWith(path, top) && path[top.size()] == '/';
}

bool HasMethod(const RouteConfig& route, absl::string_view method) {
  return std::find(route.methods.begin(), route.methods.end(), method) != route.methods.end();
}

}  // namespace

const RouteConfig* FindPassedRoute(const std::vector<RouteConfig>& routes, absl::string_view method,
                                   absl::string_view target, std::string* allow) {
  allow->clear();
  if (routes.empty()) return nullptr;
  const absl::string_view path = PathOf(target);
  const RouteConfig* found = nullptr;
  std::vector<std::string> methods;
  for (const RouteConfig& route : routes) {
    absl::string_view top = route.path;
    const bool below = absl::ConsumeSuffix(&top, "/*");
    if (below ? !IsBelow(path, top) : path != top) continue;
    for (const std::string& each : route.methods) {
      if (std::find(methods.begin(), methods.end(), each) == methods.end()) methods.push_back(each);
    }
    // The longest rule is the nearest; a rule for one path has no star.
    const bool nearer =
        found == nullptr || !below || (absl::EndsWith(found->path, "/*") && route.path.size() > found->path.size());
    if (HasMethod(route, method) && nearer) found = &route;
  }
  if (methods.empty() || Climbs(path)) return nullptr;
  if (found == nullptr) *allow = absl::StrJoin(methods, ", ");
  return found;
}

ModelSource SourceOf(const RouteConfig& route) {
  const absl::string_view source = route.model;
  const size_t colon = std::min(source.find(':'), source.size());
  const absl::string_view name = source.substr(std::min(colon + 1, source.size()));
  if (absl::StartsWith(source, "query:")) return {ModelSource::Kind::kQuery, name};
  return {absl::StartsWith(source, "fixed:") ? ModelSource::Kind::kFixed : ModelSource::Kind::kBody, name};
}

Endpoint EndpointOf(const RouteConfig& route) {
  return route.cost == RouteCost::kFree ? Endpoint::kFreeRoute : Endpoint::kRoute;
}

std::optional<JsonSpan> FindParameter(absl::string_view target, absl::string_view name, bool* twice) {
  *twice = false;
  std::optional<JsonSpan> found;
  size_t at = target.find('?');
  while (at < target.size()) {
    const size_t begin = at + 1;
    const size_t end = std::min(target.find('&', begin), target.size());
    const absl::string_view pair = target.substr(begin, end - begin);
    const size_t equals = pair.find('=');
    const std::optional<std::string> key = PercentDecode(pair.substr(0, equals));
    if (key && *key == name) {
      *twice |= found.has_value();
      const size_t from = equals == absl::string_view::npos ? end : begin + equals + 1;
      found = JsonSpan{from, end};
    }
    at = end;
  }
  return found;
}

std::string WithParameter(absl::string_view target, JsonSpan at, absl::string_view value) {
  std::string escaped;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::string_view("-._~/:@").find(c) != absl::string_view::npos) {
      escaped.push_back(c);
    } else {
      absl::StrAppend(&escaped, "%", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return absl::StrCat(target.substr(0, at.begin), escaped, target.substr(at.end));
}

}  // namespace penstock
