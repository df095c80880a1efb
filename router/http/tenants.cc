#include "router/http/tenants.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr size_t kSaltBytes = 32;

std::string Digest(absl::string_view salt, absl::string_view key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), salt.data(), static_cast<int>(salt.size()), reinterpret_cast<const unsigned char*>(key.data()),
       key.size(), out.data(), &size);
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

// A name or key as an id; never zero. The same in every process, as learned curves are kept by it.
TenantId IdOf(absl::string_view text) {
  const std::string digest = Digest("penstock tenant", text);
  uint64_t id = 0;
  std::memcpy(&id, digest.data(), sizeof(id));
  return TenantId(id == 0 ? 1 : id);
}

std::string RandomSalt() {
  std::string salt(kSaltBytes, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(salt.data()), static_cast<int>(salt.size()));
  return salt;
}

ApiError InvalidKey() { return FromRefusal(Refuse{RequestId(), Refusal::kInvalidKey, Duration(), 0, 0}, ""); }

std::optional<size_t> PositionOf(const std::vector<ClassConfig>& classes, absl::string_view name) {
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].name == name) return i;
  }
  return std::nullopt;
}

absl::string_view ClassOfTier(absl::string_view tier) {
  if (tier == "priority") return "interactive";
  if (tier == "flex") return "background";
  return "";
}

}  // namespace

TenantBook::TenantBook(const Config& config) : tenant_header_(config.tenant_header), salt_(RandomSalt()) {
  for (const TenantConfig& tenant : config.tenants) {
    for (const std::string& key : tenant.keys) keys_.push_back(Key{Digest(salt_, key), tenants_.size()});
    tenants_.push_back(tenant);
    tenants_.back().keys.clear();
  }
}

std::variant<Caller, ApiError> TenantBook::Identify(const HeaderList& headers) const {
  const absl::string_view key = ApiKeyOf(headers);
  if (!keys_.empty()) {
    const std::string digest = Digest(salt_, key);
    const Key* found = nullptr;
    for (const Key& known : keys_) {
      if (CRYPTO_memcmp(known.digest.data(), digest.data(), digest.size()) == 0) found = &known;
    }
    if (found == nullptr || key.empty()) return InvalidKey();
    const TenantConfig& tenant = tenants_[found->tenant];
    return Caller{IdOf(tenant.name), tenant.name, tenant.max_class};
  }
  const absl::string_view named = tenant_header_.empty() ? "" : FindHeader(headers, tenant_header_);
  if (!named.empty()) {
    for (const TenantConfig& tenant : tenants_) {
      if (named == absl::string_view(tenant.name)) return Caller{IdOf(tenant.name), tenant.name, tenant.max_class};
    }
    return Caller{IdOf(named), "", ""};
  }
  return key.empty() ? Caller{} : Caller{IdOf(key), "", ""};
}

std::variant<ClassChoice, ApiError> ChooseClass(const std::vector<ClassConfig>& classes, absl::string_view header,
                                                absl::string_view service_tier, absl::string_view max_class) {
  size_t position = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].is_default) position = i;
  }
  if (!header.empty()) {
    const std::optional<size_t> named = PositionOf(classes, header);
    if (!named) {
      return BadRequest(BadInput::kOutOfRange, absl::StrCat("There is no class `", header.substr(0, 64), "`."),
                        "x-penstock-class", "invalid_value");
    }
    position = *named;
  } else if (const auto tier = PositionOf(classes, ClassOfTier(service_tier))) {
    position = *tier;
  }
  if (const auto highest = PositionOf(classes, max_class)) position = std::max(position, *highest);
  return ClassChoice{position, classes[position].name};
}

}  // namespace penstock
