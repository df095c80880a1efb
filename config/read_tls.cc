#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "config/draft.h"

namespace penstock {
namespace {

constexpr size_t kLongestPem = 4 << 20;

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

void ReadPem(Draft& draft, const MapReader& reader, absl::string_view key, PemFile* file) {
  if (!reader.ReadText(key, &file->path)) return;
  absl::StatusOr<std::string> text = draft.ReadNamedFile(file->path, kLongestPem);
  if (!text.ok()) return reader.Fail(key, text.status().message());
  file->text = *std::move(text);
}

void CheckCertificate(const MapReader& reader, absl::string_view key, const PemFile& file) {
  if (!file.text.empty() && CertificateIn(file) == nullptr) {
    reader.Fail(key, absl::StrCat(file.path, " holds no PEM certificate"));
  }
}

void CheckIdentity(const MapReader& reader, const PemFile& certificate, const PemFile& key) {
  CheckCertificate(reader, "certificate", certificate);
  if (certificate.text.empty() || key.text.empty()) return;
  const auto leaf = CertificateIn(certificate);
  const auto secret = KeyIn(key);
  if (secret == nullptr) {
    reader.Fail("key", absl::StrCat(key.path, " holds no PEM key without a passphrase"));
  } else if (leaf != nullptr && X509_check_private_key(leaf.get(), secret.get()) != 1) {
    reader.Fail("key", absl::StrCat(key.path, " is not the key of ", certificate.path));
  }
}

std::optional<ListenTlsConfig> ReadListener(Draft& draft, absl::string_view key) {
  const std::optional<MapReader> reader = draft.root.ReadMap(key, SectionId::kListenTls);
  if (!reader) return std::nullopt;
  ListenTlsConfig tls;
  if (reader->Require("certificate")) ReadPem(draft, *reader, "certificate", &tls.certificate);
  if (reader->Require("key")) ReadPem(draft, *reader, "key", &tls.key);
  ReadPem(draft, *reader, "client_ca", &tls.client_ca);
  CheckIdentity(*reader, tls.certificate, tls.key);
  CheckCertificate(*reader, "client_ca", tls.client_ca);
  return tls;
}

}  // namespace

void ReadListenTls(Draft& draft) {
  draft.config.tls = ReadListener(draft, "tls");
  draft.config.admin_tls = ReadListener(draft, "admin_tls");
  if (draft.config.admin_tls && !draft.root.Has("admin_listen")) {
    draft.root.Fail("admin_tls", "needs admin_listen");
  }
}

std::optional<EngineTlsConfig> ReadEngineTls(Draft& draft, const MapReader& replica) {
  const std::optional<MapReader> reader = replica.ReadMap("tls", SectionId::kEngineTls);
  if (!reader) return std::nullopt;
  EngineTlsConfig tls;
  ReadPem(draft, *reader, "ca", &tls.ca);
  reader->ReadText("server_name", &tls.server_name);
  if (reader->Has("key")) reader->Require("certificate");
  if (reader->Has("certificate")) reader->Require("key");
  ReadPem(draft, *reader, "certificate", &tls.certificate);
  ReadPem(draft, *reader, "key", &tls.key);
  CheckCertificate(*reader, "ca", tls.ca);
  CheckIdentity(*reader, tls.certificate, tls.key);
  return tls;
}

}  // namespace penstock
