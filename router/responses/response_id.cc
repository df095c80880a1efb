#include "router/responses/response_id.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <new>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr absl::string_view kPrefix = "resp_";
constexpr size_t kRandomBytes = 8;
constexpr size_t kMarkDigits = 8;
constexpr size_t kOpenDigits = 2 * kRandomBytes + 2 * kMarkDigits;  // All but the seal.
constexpr size_t kSealDigits = 16;

std::string Digest(absl::string_view text, size_t bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return std::string(digest.begin(), digest.begin() + static_cast<std::ptrdiff_t>(bytes));
}

std::string SealOf(absl::string_view open_digits, TenantId tenant) {
  return absl::BytesToHexString(
      Digest(absl::StrCat("penstock response ", open_digits, " ", tenant.value()), kSealDigits / 2));
}

uint32_t MarkOf(absl::string_view kind, absl::string_view text) {
  uint32_t mark = 0;
  for (const char byte : Digest(absl::StrCat("penstock ", kind, " ", text), sizeof mark)) {
    mark = mark << 8 | static_cast<unsigned char>(byte);
  }
  return mark;
}

}  // namespace

ReplicaMarks MarksOf(absl::string_view name, absl::string_view address) {
  return {NameMark(MarkOf("replica", name)), AddressMark(MarkOf("address", address))};
}

std::string NewResponseId(const ReplicaMarks& replica, TenantId tenant) {
  std::string random(kRandomBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), kRandomBytes) != 1) throw std::bad_alloc();
  const std::string open =
      absl::StrCat(absl::BytesToHexString(random), absl::Hex(replica.address.value(), absl::kZeroPad8),
                   absl::Hex(replica.name.value(), absl::kZeroPad8));
  return absl::StrCat(kPrefix, open, SealOf(open, tenant));
}

bool IsResponseId(absl::string_view text) {
  if (text.size() != kPrefix.size() + kOpenDigits + kSealDigits || text.substr(0, kPrefix.size()) != kPrefix) {
    return false;
  }
  text.remove_prefix(kPrefix.size());
  return std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
}

std::optional<ReplicaMarks> ReplicaIn(absl::string_view id, TenantId tenant) {
  if (!IsResponseId(id)) return std::nullopt;
  const absl::string_view open = id.substr(kPrefix.size(), kOpenDigits);
  if (id.substr(kPrefix.size() + kOpenDigits) != SealOf(open, tenant)) return std::nullopt;
  const absl::string_view marks = open.substr(2 * kRandomBytes);
  uint32_t address = 0;
  uint32_t name = 0;
  if (!absl::SimpleHexAtoi(marks.substr(0, kMarkDigits), &address)) return std::nullopt;
  if (!absl::SimpleHexAtoi(marks.substr(kMarkDigits), &name)) return std::nullopt;
  return ReplicaMarks{NameMark(name), AddressMark(address)};
}

}  // namespace penstock
