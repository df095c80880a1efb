#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "config/read/section_checks.h"

namespace penstock {
namespace {

// OpenSSL's security level 2, the default of Debian: RSA of 2048 bits, curves of 224.
constexpr int kLeastSecurity = 112;

struct FreeAny {
  void operator()(BIO* memory) const { BIO_free_all(memory); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

int NoPassphrase(char*, int, int, void*) { return 0; }

std::unique_ptr<BIO, FreeAny> Reading(const PemFile& file) {
  return std::unique_ptr<BIO, FreeAny>(BIO_new_mem_buf(file.text.data(), static_cast<int>(file.text.size())));
}

std::unique_ptr<X509, FreeAny> CertificateIn(const PemFile& file) {
  return std::unique_ptr<X509, FreeAny>(PEM_read_bio_X509(Reading(file).get(), nullptr, nullptr, nullptr));
}

std::unique_ptr<EVP_PKEY, FreeAny> KeyIn(const PemFile& file) {
  return std::unique_ptr<EVP_PKEY, FreeAny>(
      PEM_read_bio_PrivateKey(Reading(file).get(), nullptr, NoPassphrase, nullptr));
}

void CheckCertificate(const MapReader& map, absl::string_view key, const PemFile& file) {
  if (!file.text.empty() && CertificateIn(file) == nullptr) {
    map.Fail(key, absl::StrCat(file.path, " holds no PEM certificate"));
  }
}

void CheckIdentity(const MapReader& map, const PemFile& certificate, const PemFile& key) {
  CheckCertificate(map, "certificate", certificate);
  if (certificate.text.empty() || key.text.empty()) return;
  const auto leaf = CertificateIn(certificate);
  const auto secret = KeyIn(key);
  if (secret == nullptr) {
    map.Fail("key", absl::StrCat(key.path, " holds no PEM key without a passphrase"));
  } else if (leaf != nullptr && X509_check_private_key(leaf.get(), secret.get()) != 1) {
    map.Fail("key", absl::StrCat(key.path, " is not the key of ", certificate.path));
  } else if (const int bits = EVP_PKEY_security_bits(secret.get()); bits < kLeastSecurity) {
    map.Fail("key", absl::StrCat(key.path, " is too weak: ", EVP_PKEY_bits(secret.get()), " bits"));
  }
}

}  // namespace

void CheckSection(ListenTlsConfig& tls, const MapReader& map, Draft&) {
  CheckIdentity(map, tls.certificate, tls.key);
  CheckCertificate(map, "client_ca", tls.client_ca);
}

void CheckSection(EngineTlsConfig& tls, const MapReader& map, Draft&) {
  if (map.Has("key")) map.Require("certificate");
  if (map.Has("certificate")) map.Require("key");
  CheckCertificate(map, "ca", tls.ca);
  CheckIdentity(map, tls.certificate, tls.key);
}

}  // namespace penstock
