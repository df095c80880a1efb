#include "config/read/named_files.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/key_digest.h"

namespace penstock {
namespace {

constexpr size_t kLongestSecret = size_t{64} * 1024;
constexpr int kPatienceMs = 500;

// A variable as a shell writes it, whose name would become the secret.
bool LacksBraces(const std::string& text) {
  return text.size() > 1 && text.front() == '$' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// A prefix that is none, though its writer took it for one.
bool HasStrangePrefix(absl::string_view text) {
  constexpr std::array<absl::string_view, 3> kPrefixes = {"env:", "file:", "sha256:"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](absl::string_view prefix) { return absl::StartsWithIgnoreCase(text, prefix); });
}

absl::StatusOr<std::string> Expand(const std::string& text) {
  if (HasStrangePrefix(text)) {
    return absl::InvalidArgumentError(
        "begins with a prefix that is not known here: write ${NAME} or file:PATH, and sha256: for keys of callers "
        "only");
  }
  if (LacksBraces(text)) {
    return absl::InvalidArgumentError("is a variable without braces: write it as ${NAME}");
  }
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
      return absl::InvalidArgumentError(absl::StrCat("environment variable \"", name,
                                                     "\" is not set or empty; set it where penstock starts, or ",
                                                     "write file:PATH"));
    }
    expanded += value;
    position = end + 1;
  }
}

// A pipe without a writer is empty, and one whose writer says nothing for kPatience is an error: neither keeps its
// reader. False: errno.
bool ReadUpTo(size_t most, const char* path, std::string* content) {
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  content->resize(most);
  size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < most) {
    pollfd data{file, POLLIN, 0};
    const int ready = poll(&data, 1, kPatienceMs);
    if (ready == 0) errno = ENODATA;
    got = ready > 0 ? read(file, content->data() + size, most - size) : -1;
    if (got > 0) size += static_cast<size_t>(got);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) got = 1;
  }
  const int error = errno;
  close(file);
  errno = error;
  content->resize(size);
  return got >= 0;
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, const std::string& folder, size_t limit) {
  std::filesystem::path full(path);
  if (full.is_relative() && !folder.empty()) full = std::filesystem::path(folder) / full;
  std::error_code error;
  if (std::filesystem::is_directory(full, error)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", full.string(), ": is a directory"));
  }
  std::string content;
  if (!ReadUpTo(limit + 1, full.c_str(), &content)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", full.string(), ": ", std::strerror(errno)));
  }
  if (content.size() > limit) {
    const std::string most = limit % (1 << 20) == 0 ? absl::StrCat(limit >> 20, " MiB") : absl::StrCat(limit, " bytes");
    return absl::InvalidArgumentError(absl::StrCat(full.string(), " is larger than ", most));
  }
  return content;
}

absl::StatusOr<std::string> Draft::ReadNamedFile(const std::string& path, size_t limit) {
  const std::filesystem::path named(path);
  config.sources.push_back(named.is_relative() && !folder.empty() ? (std::filesystem::path(folder) / named).string()
                                                                  : path);
  return ReadWholeFile(path, folder, limit);
}

namespace {

// `lowest`: the first character that it may have.
absl::StatusOr<std::string> Resolve(const std::string& text, Draft& draft, unsigned char lowest) {
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
  const bool good = std::all_of(value.begin(), value.end(),
                                [lowest](char c) { return static_cast<unsigned char>(c) >= lowest && c != 127; });
  // Secrets become header values.
  if (!good) return absl::InvalidArgumentError("the secret contains spaces or control characters");
  return value;
}

}  // namespace

absl::StatusOr<std::string> ResolveSecret(const std::string& text, Draft& draft) { return Resolve(text, draft, '!'); }

absl::StatusOr<std::string> ResolveHeaderValue(const std::string& text, Draft& draft) {
  return Resolve(text, draft, ' ');
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
