#include "router/http/origin/cross_origin.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "router/openai/request/header_rules.h"

namespace penstock {
namespace {

constexpr absl::string_view kExposed =
    "x-request-id, request-id, retry-after, retry-after-ms, x-should-retry, x-penstock-reason, x-penstock-receipt, "
    "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, "
    "x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens";
// A page may not make the router repeat long texts.
constexpr size_t kLongestAsked = 4096;

bool Everybody(const CorsConfig& cors) {
  return std::find(cors.origins.begin(), cors.origins.end(), "*") != cors.origins.end();
}

// Scheme and host of an origin are the same in any case.
bool Allows(const CorsConfig& cors, absl::string_view origin) {
  return std::any_of(cors.origins.begin(), cors.origins.end(),
                     [origin](const std::string& each) { return absl::EqualsIgnoreCase(each, origin); });
}

}  // namespace

HeaderList CrossOriginHeaders(const CorsConfig& cors, absl::string_view origin) {
  HeaderList headers;
  const bool everybody = Everybody(cors);
  if (!everybody) headers.Add("vary", "Origin");
  if (origin.empty() || (!everybody && !Allows(cors, origin))) return headers;
  headers.Add("access-control-allow-origin", everybody ? absl::string_view("*") : origin);
  if (cors.credentials) headers.Add("access-control-allow-credentials", "true");
  std::string exposed(kExposed);
  for (const std::string& name : cors.expose) absl::StrAppend(&exposed, ", ", name);
  headers.Add("access-control-expose-headers", exposed);
  return headers;
}

bool IsPreflight(absl::string_view method, const HeaderList& request) {
  return method == "OPTIONS" && !FindHeader(request, "origin").empty() &&
         !FindHeader(request, "access-control-request-method").empty();
}

HeaderList PreflightHeaders(const CorsConfig& cors, const HeaderList& request, absl::string_view methods) {
  HeaderList headers;
  if (!Everybody(cors) && !Allows(cors, FindHeader(request, "origin"))) return headers;
  const absl::string_view asked = FindHeader(request, "access-control-request-method");
  headers.Add("access-control-allow-methods", methods.empty() ? asked.substr(0, kLongestAsked) : methods);
  const absl::string_view wanted = FindHeader(request, "access-control-request-headers").substr(0, kLongestAsked);
  const std::string allowed = cors.headers.empty() ? std::string(wanted) : absl::StrJoin(cors.headers, ", ");
  if (!allowed.empty()) headers.Add("access-control-allow-headers", allowed);
  headers.Add("access-control-max-age", absl::StrCat(cors.max_age.nanoseconds() / 1'000'000'000));
  return headers;
}

}  // namespace penstock
