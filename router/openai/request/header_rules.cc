#include "router/openai/request/header_rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/header_names.h"

namespace penstock {
namespace {

constexpr size_t kMaxRequestId = 128;
constexpr size_t kLongestVia = 1024;
constexpr size_t kAddedNames = 64;  // And fixed values, to what an engine gets.

// The last letter decides first: most prefixes end with a hyphen.
bool StartsWithName(absl::string_view name, absl::string_view prefix) {
  return SameHeaderName(name.substr(0, prefix.size()), prefix);
}

// A fixed set of header names. Few have the same length, so a lookup compares next to nothing.
template <size_t N>
class HeaderNames {
 public:
  constexpr explicit HeaderNames(const std::array<absl::string_view, N>& names) : names_(names) {
    for (size_t i = 0; i < N; ++i) by_length_[names[i].size()] |= uint32_t{1} << i;
  }

  bool Contain(absl::string_view name) const {
    if (name.size() >= by_length_.size()) return false;
    for (uint32_t left = by_length_[name.size()]; left != 0; left &= left - 1) {
      if (SameHeaderName(name, names_[static_cast<size_t>(std::countr_zero(left))])) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kLongest = 32;

  std::array<absl::string_view, N> names_;
  std::array<uint32_t, kLongest> by_length_{};  // A bit for each name of that length.
};

constexpr HeaderNames kHopByHop(kHopByHopHeaders);
constexpr HeaderNames<9> kForEngines({"accept", "accept-language", "anthropic-beta", "anthropic-version", "b3",
                                      "baggage", "content-type", "user-agent", "x-correlation-id"});
// The router validates these, and writes its own.
constexpr HeaderNames<2> kTrace({"traceparent", "tracestate"});
constexpr HeaderNames kOwn(kOwnHeaders);
// The router gives its own advice to retry, with its own errors. An engine does not steer a browser of the router.
constexpr HeaderNames<31> kNotForClients({"content-length",
                                          "content-type",
                                          "content-encoding",
                                          "server",
                                          "date",
                                          "x-request-id",
                                          "set-cookie",
                                          "alt-svc",
                                          "retry-after",
                                          "retry-after-ms",
                                          "x-should-retry",
                                          "location",
                                          "refresh",
                                          "strict-transport-security",
                                          "accept-ch",
                                          "clear-site-data",
                                          "content-disposition",
                                          "content-location",
                                          "critical-ch",
                                          "expect-ct",
                                          "link",
                                          "nel",
                                          "origin-trial",
                                          "permissions-policy",
                                          "report-to",
                                          "reporting-endpoints",
                                          "service-worker-allowed",
                                          "sourcemap",
                                          "speculation-rules",
                                          "www-authenticate",
                                          "x-sendfile"});
// Headers with these beginnings steer browsers, or proxies in front of the router.
constexpr std::array<absl::string_view, 5> kNotForClientsFrom = {
    "access-control-", "x-penstock-", "content-security-policy", "cross-origin-", "x-accel-"};

bool IsSane(absl::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestId &&
         std::all_of(id.begin(), id.end(), [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

// The headers that Connection names. Usually none, which costs a comparison per field.
class ConnectionNames {
 public:
  explicit ConnectionNames(const HeaderList& headers) {
    for (const auto [name, value] : headers) {
      if (!SameHeaderName(name, "connection")) continue;
      for (absl::string_view token : absl::StrSplit(value, ',')) {
        token = absl::StripAsciiWhitespace(token);
        if (!SameHeaderName(token, "keep-alive") && !SameHeaderName(token, "close"))
          names_.push_back(absl::AsciiStrToLower(token));
      }
    }
    std::sort(names_.begin(), names_.end());
  }
  bool Contain(absl::string_view name) const {
    return !names_.empty() && std::binary_search(names_.begin(), names_.end(), absl::AsciiStrToLower(name));
  }

 private:
  std::vector<std::string> names_;  // In lower case, sorted.
};

bool IsFor(absl::string_view name, const MoreHeaders& more) {
  const auto same = [name](absl::string_view other) { return SameHeaderName(name, other); };
  return kForEngines.Contain(name) || StartsWithName(name, "x-simulated-") || StartsWithName(name, "x-b3-") ||
         std::any_of(more.of_engine.begin(), more.of_engine.end(), same) ||
         std::any_of(more.configured.begin(), more.configured.end(), same);
}

}  // namespace

HeaderList HeadersForEngine(const HeaderList& client, absl::string_view key, absl::string_view request_id,
                            const MoreHeaders& more) {
  const ConnectionNames named(client);
  HeaderList headers;
  headers.Reserve(client.size() + 5, client.bytes() + key.size() + request_id.size() + more.traceparent.size() +
                                         more.tracestate.size() + kAddedNames);
  for (const auto [name, value] : client) {
    if (IsFor(name, more) && !NeverRelayed(name) && !kTrace.Contain(name) && !named.Contain(name))
      headers.Add(name, value);
  }
  if (FindHeader(headers, "content-type").empty()) headers.Add("Content-Type", "application/json");
  if (!key.empty()) headers.Add("Authorization", absl::StrCat("Bearer ", key));
  headers.Add("x-request-id", request_id);
  if (!more.traceparent.empty()) headers.Add("traceparent", more.traceparent);
  if (!more.tracestate.empty()) headers.Add("tracestate", more.tracestate);
  if (!more.pseudonym.empty()) {
    absl::string_view before = FindHeader(client, "via");
    if (before.size() > kLongestVia) before = absl::string_view();
    const absl::string_view between = before.empty() ? "1.1 " : ", 1.1 ";
    headers.Add("Via", absl::StrCat(before, between, more.pseudonym));
  }
  return headers;
}

bool PassedBefore(const HeaderList& client, absl::string_view pseudonym) {
  if (pseudonym.empty()) return false;
  for (const auto [name, value] : client) {
    if (SameHeaderName(name, "via") && absl::StrContains(value, pseudonym)) return true;
  }
  return false;
}

HeaderList HeadersForClient(const HeaderList& engine) {
  const ConnectionNames named(engine);
  HeaderList headers;
  for (const auto [name, value] : engine) {
    const bool stays = kHopByHop.Contain(name) || kNotForClients.Contain(name) || named.Contain(name) ||
                       std::any_of(kNotForClientsFrom.begin(), kNotForClientsFrom.end(),
                                   [&, name = name](absl::string_view prefix) { return StartsWithName(name, prefix); });
    if (stays) continue;
    // Most engines send no header that goes on.
    if (headers.size() == 0) headers.Reserve(engine.size(), engine.bytes());
    headers.Add(name, value);
  }
  return headers;
}

bool NeverRelayed(absl::string_view name) {
  return kHopByHop.Contain(name) || kOwn.Contain(name) || StartsWithName(name, kOwnPrefix);
}

std::string ClientRequestId(const HeaderList& headers) {
  for (absl::string_view name : {"x-request-id", "x-client-request-id"}) {
    const absl::string_view id = FindHeader(headers, name);
    if (IsSane(id)) return std::string(id);
  }
  return "";
}

bool Contradicts(const HeaderList& headers, absl::string_view name) {
  std::optional<absl::string_view> first;
  for (const auto& [each, value] : headers) {
    if (!absl::EqualsIgnoreCase(each, name)) continue;
    const absl::string_view text = absl::StripAsciiWhitespace(value);
    if (first.value_or(text) != text) return true;
    first = text;
  }
  return false;
}

std::optional<ApiError> Contradiction(const HeaderList& headers, absl::Span<const absl::string_view> names) {
  for (const absl::string_view name : names) {
    if (!Contradicts(headers, name)) continue;
    return MakeError(ErrorName::kInvalidValue,
                     absl::StrCat("The header `", name, "` comes twice, with different values. Send one."),
                     std::string(name));
  }
  return std::nullopt;
}

absl::string_view ApiKeyOf(const HeaderList& headers) {
  const absl::string_view authorization = FindHeader(headers, "authorization");
  constexpr absl::string_view kBearer = "bearer ";
  if (absl::StartsWithIgnoreCase(authorization, kBearer)) {
    return absl::StripAsciiWhitespace(authorization.substr(kBearer.size()));
  }
  return absl::StripAsciiWhitespace(FindHeader(headers, "x-api-key"));
}

}  // namespace penstock
