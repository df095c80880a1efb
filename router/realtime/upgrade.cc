#include "router/realtime/upgrade.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "router/openai/request/header_rules.h"

namespace penstock {
namespace {

constexpr absl::string_view kWebSocket = "websocket";
constexpr absl::string_view kVersion = "13";
constexpr absl::string_view kKeyField = "sec-websocket-key";
constexpr absl::string_view kAcceptField = "sec-websocket-accept";
constexpr absl::string_view kProtocolField = "sec-websocket-protocol";
constexpr absl::string_view kExtensionsField = "sec-websocket-extensions";
constexpr absl::string_view kKeyProtocol = "openai-insecure-api-key.";
constexpr absl::string_view kAcceptGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455, section 1.3.
constexpr size_t kKeySize = 24;                                                    // 16 bytes in base64.

// A field may occur several times.
bool Lists(const HeaderList& headers, absl::string_view name, absl::string_view token) {
  for (const auto [field, value] : headers) {
    if (!absl::EqualsIgnoreCase(field, name)) continue;
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(part), token)) return true;
    }
  }
  return false;
}

bool IsKey(absl::string_view key) {
  const auto digit = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/'; };
  return key.size() == kKeySize && absl::EndsWith(key, "==") && std::all_of(key.begin(), key.end() - 2, digit);
}

int TimesOf(const HeaderList& headers, absl::string_view name) {
  int count = 0;
  for (const auto [field, value] : headers) count += absl::EqualsIgnoreCase(field, name) ? 1 : 0;
  return count;
}

std::string AcceptOf(absl::string_view key) {
  const std::string text = absl::StrCat(key, kAcceptGuid);
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return absl::Base64Escape(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

bool AcceptsKey(const HeaderList& asked, const HeaderList& answer) {
  return TimesOf(answer, kAcceptField) == 1 &&
         FindHeader(answer, kAcceptField) == AcceptOf(FindHeader(asked, kKeyField));
}

// The case of letters counts in the names of subprotocols.
bool ChoosesProtocol(const HeaderList& asked, const HeaderList& answer) {
  const int times = TimesOf(answer, kProtocolField);
  if (times != 1) return times == 0;
  const absl::string_view chosen = absl::StripAsciiWhitespace(FindHeader(answer, kProtocolField));
  for (const absl::string_view part : absl::StrSplit(FindHeader(asked, kProtocolField), ',', absl::SkipEmpty())) {
    if (absl::StripAsciiWhitespace(part) == chosen) return true;
  }
  return false;
}

// The names in all fields of extensions; their parameters stay out.
std::vector<absl::string_view> ExtensionsOf(const HeaderList& headers) {
  std::vector<absl::string_view> names;
  for (const auto [field, value] : headers) {
    if (!absl::EqualsIgnoreCase(field, kExtensionsField)) continue;
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      const absl::string_view name = absl::StripAsciiWhitespace(part.substr(0, part.find(';')));
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

bool ChoosesExtensions(const HeaderList& asked, const HeaderList& answer) {
  const std::vector<absl::string_view> offered = ExtensionsOf(asked);
  const std::vector<absl::string_view> chosen = ExtensionsOf(answer);
  return std::all_of(chosen.begin(), chosen.end(), [&](absl::string_view name) {
    return std::any_of(offered.begin(), offered.end(),
                       [&](absl::string_view offer) { return absl::EqualsIgnoreCase(offer, name); });
  });
}

}  // namespace

std::optional<ApiError> CheckUpgrade(const HeaderList& client, bool http10) {
  const bool asks = Lists(client, "upgrade", kWebSocket) && Lists(client, "connection", "upgrade");
  if (!asks || http10 || FindHeader(client, "sec-websocket-version") != kVersion) {
    return MakeError(ErrorName::kUpgradeRequired, "Connect with a WebSocket (version 13) over HTTP/1.1.");
  }
  if (TimesOf(client, kKeyField) != 1 || !IsKey(FindHeader(client, kKeyField))) {
    return MakeError(ErrorName::kMalformedRequest, "`Sec-WebSocket-Key` must be 16 bytes in base64.");
  }
  return std::nullopt;
}

std::string KeyAmongProtocols(const HeaderList& client) {
  for (const auto [field, value] : client) {
    if (!absl::EqualsIgnoreCase(field, kProtocolField)) continue;
    for (absl::string_view part : absl::StrSplit(value, ',')) {
      part = absl::StripAsciiWhitespace(part);
      if (absl::ConsumePrefix(&part, kKeyProtocol)) return std::string(part);
    }
  }
  return "";
}

void AddUpgrade(const HeaderList& client, HeaderList& engine) {
  engine.Add("connection", "Upgrade");
  engine.Add("upgrade", kWebSocket);
  engine.Add("sec-websocket-version", kVersion);
  engine.Add(kKeyField, FindHeader(client, kKeyField));
  std::string protocols;
  for (const auto [field, value] : client) {
    if (absl::EqualsIgnoreCase(field, kExtensionsField)) engine.Add(kExtensionsField, value);
    if (!absl::EqualsIgnoreCase(field, kProtocolField)) continue;
    for (absl::string_view part : absl::StrSplit(value, ',')) {
      part = absl::StripAsciiWhitespace(part);
      // A key behind other text is no protocol, and stays here too.
      if (absl::StrContains(part, kKeyProtocol)) continue;
      absl::StrAppend(&protocols, protocols.empty() ? "" : ", ", part);
    }
  }
  if (!protocols.empty()) engine.Add(kProtocolField, protocols);
}

bool AgreesToUpgrade(const HeaderList& asked, const HeaderList& answer) {
  return absl::EqualsIgnoreCase(FindHeader(answer, "upgrade"), kWebSocket) && AcceptsKey(asked, answer) &&
         ChoosesProtocol(asked, answer) && ChoosesExtensions(asked, answer);
}

void AddAgreement(HeaderList& client) {
  client.Add("connection", "Upgrade");
  client.Add("upgrade", kWebSocket);
}

}  // namespace penstock
