#include "config/read/named_files.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/key_digest.h"

namespace penstock {
namespace {

constexpr size_t kLongestSecret = size_t{64} * 1024;

absl::StatusOr<std::string> Expand(const std::string& text) {
  std::string expanded;
  size_t position = 0;
  while (true) {
    const size_t start = text.find("${", position);
    expanded.append(text, position, start - position);
    if (start == std::string::npos) return expanded;
    const size_t end = text.find('}', start);
    if (end == std::string::npos) return absl::InvalidArgumentError("has ${ without }");
    const std::string name = text.substr(start + 2, end - start - 2);
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') {
      return absl::InvalidArgumentError(absl::StrCat("environment variable \"", name, "\" is not set or empty"));
    }
    expanded += value;
    position = end + 1;
  }
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, const std::string& folder, size_t limit) {
  std::filesystem::path full(path);
  if (full.is_relative() && !folder.empty()) full = std::filesystem::path(folder) / full;
  std::error_code error;
  if (std::filesystem::is_directory(full, error)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", full.string(), ": is a directory"));
  }
  std::ifstream file(full, std::ios::binary);
  if (!file) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", full.string(), ": ", std::strerror(errno)));
  }
  std::string content(limit + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<size_t>(file.gcount()));
  if (content.size() > limit) {
    return absl::InvalidArgumentError(absl::StrCat(full.string(), " is larger than ", limit, " bytes"));
  }
  return content;
}

absl::StatusOr<std::string> Draft::ReadNamedFile(const std::string& path, size_t limit) {
  const std::filesystem::path named(path);
  config.sources.push_back(named.is_relative() && !folder.empty() ? (std::filesystem::path(folder) / named).string()
                                                                  : path);
  return ReadWholeFile(path, folder, limit);
}

absl::StatusOr<std::string> ResolveSecret(const std::string& text, Draft& draft) {
  std::string value;
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, "file:")) {
    absl::StatusOr<std::string> content = draft.ReadNamedFile(std::string(path), kLongestSecret);
    if (!content.ok()) return content.status();
    absl::string_view line = *content;
    absl::ConsumeSuffix(&line, "\n");
    absl::ConsumeSuffix(&line, "\r");
    value = std::string(line);
  } else {
    absl::StatusOr<std::string> expanded = Expand(text);
    if (!expanded.ok()) return expanded.status();
    value = *std::move(expanded);
  }
  if (value.empty()) return absl::InvalidArgumentError("the secret is empty");
  for (const char c : value) {
    // Secrets become header values.
    if (static_cast<unsigned char>(c) <= 32 || c == 127) {
      return absl::InvalidArgumentError("the secret contains spaces or control characters");
    }
  }
  return value;
}

absl::StatusOr<std::string> ResolveKeyDigest(const std::string& text, Draft& draft) {
  absl::string_view hex = text;
  if (absl::ConsumePrefix(&hex, "sha256:")) {
    const bool digits = std::all_of(hex.begin(), hex.end(), [](char c) { return std::isxdigit(c & 0x7f) != 0; });
    if (hex.size() != size_t{64} || !digits) {
      return absl::InvalidArgumentError("sha256: needs the 64 hexadecimal digits of a key's SHA-256");
    }
    return std::string(absl::HexStringToBytes(hex));
  }
  absl::StatusOr<std::string> secret = ResolveSecret(text, draft);
  if (!secret.ok()) return secret.status();
  std::string digest = KeyDigest(*secret);
  OPENSSL_cleanse(secret->data(), secret->size());
  return digest;
}

}  // namespace penstock
