#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/read/fleet_checks.h"
#include "config/read/section_checks.h"
#include "config/values/own_paths.h"

namespace penstock {
namespace {

constexpr std::array<absl::string_view, 3> kMethods = {"GET", "POST", "DELETE"};
constexpr size_t kLongestPath = 1024;

bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::string_view("-._~/!$&'()+,;=:@").find(c) != absl::string_view::npos;
}

// Empty: the path is good.
std::string FaultOfPath(absl::string_view path) {
  if (path.size() > kLongestPath) return absl::StrCat("must have at most ", kLongestPath, " characters");
  absl::string_view plain = path;
  absl::ConsumeSuffix(&plain, "/*");
  if (plain.empty() || plain[0] != '/') return "must begin with / and name at least one part";
  if (!std::all_of(plain.begin(), plain.end(), IsPathCharacter)) {
    return "may have letters, digits and -._~/!$&'()+,;=:@ only, and /* at its end";
  }
  for (const absl::string_view part : absl::StrSplit(plain.substr(1), '/')) {
    if (part == "." || part == "..") return "must have no part . or ..";
    if (part.empty()) return "must have no empty part";
  }
  const absl::string_view own = OwnPathTaken(path);
  return own.empty() ? std::string() : absl::StrCat("takes ", own, ", which Penstock serves itself");
}

void CheckMethods(const RouteConfig& route, const MapReader& map) {
  if (route.methods.empty()) map.Fail("methods", "must not be empty");
  for (size_t i = 0; i < route.methods.size(); ++i) {
    const std::string& method = route.methods[i];
    if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
      map.FailAt("methods", i, absl::StrCat("unknown method \"", method, "\", known: GET POST DELETE"));
    }
    const auto here = route.methods.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(route.methods.begin(), here, method) != here) {
      map.FailAt("methods", i, absl::StrCat("occurs twice: ", method));
    }
  }
}

void CheckModelSource(const RouteConfig& route, const MapReader& map) {
  const std::pair<absl::string_view, absl::string_view> source = absl::StrSplit(route.model, absl::MaxSplits(':', 1));
  const bool known = source.first == "body" || source.first == "query" || source.first == "fixed";
  if (!known || source.second.empty()) {
    return map.Fail("model", "must be body:FIELD, query:NAME or fixed:MODEL");
  }
  const bool only_post = std::all_of(route.methods.begin(), route.methods.end(),
                                     [](const std::string& method) { return method == "POST"; });
  if (source.first == "body" && !only_post) {
    map.Fail("model", "must be query:NAME or fixed:MODEL for GET and DELETE, whose requests have no body");
  }
}

void CheckCost(const RouteConfig& route, const MapReader& map) {
  const bool prompt = route.cost == RouteCost::kPrompt;
  const bool tokens = route.cost == RouteCost::kTokens;
  if (prompt && route.fields.empty()) map.Fail("fields", "is required with cost: prompt");
  if (!prompt && map.Has("fields")) map.Fail("fields", "needs cost: prompt");
  if (tokens && !map.Has("tokens")) map.Fail("tokens", "is required with cost: tokens");
  if (!tokens && map.Has("tokens")) map.Fail("tokens", "needs cost: tokens");
  const bool posts = std::find(route.methods.begin(), route.methods.end(), "POST") != route.methods.end();
  if (prompt && (!posts || route.methods.size() > 1)) map.Fail("cost", "prompt needs POST as the only method");
}

bool Overlap(const RouteConfig& a, const RouteConfig& b) {
  if (a.path != b.path) return false;
  return std::any_of(a.methods.begin(), a.methods.end(), [&b](const std::string& method) {
    return std::find(b.methods.begin(), b.methods.end(), method) != b.methods.end();
  });
}

}  // namespace

void CheckSection(RouteConfig& route, const MapReader& map, Draft&) {
  if (!route.path.empty()) {
    if (const std::string fault = FaultOfPath(route.path); !fault.empty()) map.Fail("path", fault);
  }
  CheckMethods(route, map);
  CheckModelSource(route, map);
  CheckCost(route, map);
}

void CheckSection(CorsConfig& cors, const MapReader& map, Draft&) {
  if (cors.origins.empty() && map.Has("origins")) map.Fail("origins", "must not be empty");
  for (size_t i = 0; i < cors.origins.size(); ++i) {
    const absl::string_view origin = cors.origins[i];
    if (origin == "*") {
      if (cors.credentials) map.Fail("credentials", "needs origins by name: * stands for everybody");
      continue;
    }
    const size_t host = origin.find("://");
    const bool shaped = host != absl::string_view::npos && host > 0 && host + 3 < origin.size() &&
                        origin.find_first_of("/?# *", host + 3) == absl::string_view::npos;
    if (!shaped && origin != "null") map.FailAt("origins", i, "must be scheme://host[:port], null or *");
  }
}

void CheckRoutes(const Draft& draft) {
  const std::vector<RouteConfig>& routes = draft.config.routes;
  for (size_t i = 0; i < routes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!Overlap(routes[j], routes[i])) continue;
      draft.At("routes", i)
          .Fail("path", absl::StrCat("duplicate path \"", routes[i].path, "\", first used by routes[", j, "]"));
      break;
    }
  }
}

}  // namespace penstock
