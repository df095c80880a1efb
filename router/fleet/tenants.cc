#include "router/fleet/tenants.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "config/keys/names.h"
#include "config/values/in_effect.h"
#include "config/values/key_digest.h"

namespace penstock {
namespace {

ApiError InvalidKey() { return FromRefusal(Refuse{RequestId(), Refusal::kInvalidKey, Duration(), 0, 0}, ""); }

std::optional<size_t> PositionOf(const std::vector<ClassConfig>& classes, absl::string_view name) {
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].name == name) return i;
  }
  return std::nullopt;
}

absl::string_view ClassOfTier(absl::string_view tier) {
  if (tier == "priority") return "interactive";
  if (tier == "default") return "standard";
  if (tier == "flex") return "background";
  return tier;
}

Caller CallerOf(const TenantConfig& tenant) {
  return Caller{TenantIdOf(tenant.name), tenant.name, tenant.service_class, tenant.max_class,
                tenant.tokens_per_minute.has_value() || tenant.max_concurrent.has_value()};
}

}  // namespace

namespace {

constexpr std::array<absl::string_view, 3> kPurposes = {"penstock tenant", "penstock tenant by key",
                                                        "penstock tenant by header"};

TenantId HashedId(absl::string_view text, NamedBy by) {
  const absl::string_view purpose = kPurposes[static_cast<size_t>(by)];
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  HMAC(EVP_sha256(), purpose.data(), static_cast<int>(purpose.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), nullptr);
  uint64_t id = 0;
  std::memcpy(&id, digest.data(), sizeof(id));
  return TenantId(id == 0 ? 1 : id);
}

// The ids of callers seen lately: a keyed hash costs more than all other questions about a caller. Keys themselves are
// not stored. The fast hash is seeded so that nobody can look for two keys that share a slot's value.
class RecentIds {
 public:
  TenantId Find(absl::string_view text, NamedBy by) {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(text.data(), text.size(), seed_ + static_cast<uint64_t>(by));
    Slot& slot = slots_[hash.low64 % slots_.size()];
    if (slot.id == TenantId() || !XXH128_isEqual(slot.hash, hash)) slot = {hash, HashedId(text, by)};
    return slot.id;
  }

 private:
  struct Slot {
    XXH128_hash_t hash;
    TenantId id;
  };
  const uint64_t seed_ = std::random_device{}() * uint64_t{0x9E3779B97F4A7C15} + std::random_device{}();
  std::array<Slot, 512> slots_{};
};

}  // namespace

TenantId TenantIdOf(absl::string_view text, NamedBy by) {
  static thread_local auto recent = std::make_unique<RecentIds>();
  return recent->Find(text, by);
}

std::vector<TenantSpec> TenantSpecsOf(const Config& config) {
  std::vector<TenantSpec> specs;
  for (const TenantConfig& tenant : config.tenants) {
    const TenantLimits limits{Tokens(tenant.tokens_per_minute.value_or(0)), tenant.max_concurrent.value_or(0)};
    specs.push_back(TenantSpec{TenantIdOf(tenant.name), tenant.name, tenant.weight, limits});
  }
  return specs;
}

FairnessSpec FairnessOf(const Config& config) {
  const std::string mode = FairnessInEffect(config);
  const auto place = [](const auto& names, absl::string_view name) {
    return static_cast<uint8_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  return {static_cast<FairnessMode>(place(kFairnessNames, mode)),
          static_cast<ServiceUnit>(place(kServiceNames, config.fairness_charge))};
}

TenantBook::TenantBook(const Config& config) : tenant_header_(config.tenant_header) {
  // Everybody knows the stars of a printed configuration.
  const std::string hidden = KeyDigest(kHiddenSecret);
  for (size_t i = 0; i < config.tenants.size(); ++i) {
    tenants_.push_back(CallerOf(config.tenants[i]));
    names_.try_emplace(config.tenants[i].name, i);
    for (const std::string& digest : config.tenants[i].keys) {
      needs_key_ = true;
      if (digest != hidden) keys_.Add(digest, i);
    }
  }
  needs_admin_key_ = !config.admin_keys.empty();
  for (const std::string& digest : config.admin_keys) {
    if (digest != hidden) admin_keys_.Add(digest, 0);
  }
}

std::optional<ApiError> TenantBook::DenyAdmin(const HeaderList& headers, bool on_admin_listener) const {
  if (!needs_admin_key_ && (on_admin_listener || !needs_key_)) return std::nullopt;
  if (!needs_admin_key_) {
    ApiError error = InvalidKey();
    error.message = "Tenants have keys, so the page needs `admin_keys` or an `admin_listen` of its own.";
    return error;
  }
  const absl::string_view key = ApiKeyOf(headers);
  if (key.empty()) return MissingKey();
  return admin_keys_.Find(KeyDigest(key)) != nullptr ? std::nullopt : std::optional(InvalidKey());
}

std::variant<Caller, ApiError> TenantBook::Identify(const HeaderList& headers) const {
  const absl::string_view key = ApiKeyOf(headers);
  if (needs_key_) {
    if (key.empty()) return MissingKey();
    const size_t* tenant = keys_.Find(KeyDigest(key));
    if (tenant == nullptr) return InvalidKey();
    return tenants_[*tenant];
  }
  Caller by_key = key.empty() ? Caller{} : Caller{TenantIdOf(key, NamedBy::kKey), "", "", "", false, true};
  if (tenant_header_.empty()) return by_key;
  if (auto doubled = Contradiction(headers, {tenant_header_})) return *std::move(doubled);
  const absl::string_view named = FindHeader(headers, tenant_header_);
  if (!named.empty()) {
    const auto tenant = names_.find(named);
    if (tenant != names_.end()) return tenants_[tenant->second];
    return Caller{TenantIdOf(named, NamedBy::kHeader), "", "", "", false, true};
  }
  return by_key;
}

absl::string_view ClassOfModel(const Config& config, absl::string_view model) {
  for (const ModelConfig& each : config.models) {
    const bool alias = std::find(each.aliases.begin(), each.aliases.end(), model) != each.aliases.end();
    if (alias || model == absl::string_view(each.name)) return each.service_class;
  }
  return "";
}

std::variant<ClassChoice, ApiError> ChooseClass(const std::vector<ClassConfig>& classes, const ClassNames& names,
                                                absl::string_view max_class) {
  if (!names.header.empty() && !PositionOf(classes, names.header)) {
    return MakeError(ErrorName::kInvalidValue, absl::StrCat("There is no class `", names.header.substr(0, 64), "`."),
                     "x-penstock-class");
  }
  size_t position = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].is_default) position = i;
  }
  for (const absl::string_view name :
       {names.header, ClassOfTier(names.service_tier), names.of_tenant, names.of_model}) {
    const std::optional<size_t> named = PositionOf(classes, name);
    if (!named) continue;
    position = *named;
    break;
  }
  if (const auto highest = PositionOf(classes, max_class)) position = std::max(position, *highest);
  return ClassChoice{position, classes[position].name, classes[position].ttft, classes[position].tpot};
}

}  // namespace penstock
