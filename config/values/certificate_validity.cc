#include "config/values/certificate_validity.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>

namespace penstock {
namespace {

struct FreeAll {
  void operator()(BIO* memory) const { BIO_free_all(memory); }
  void operator()(ASN1_TIME* moment) const { ASN1_TIME_free(moment); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};

constexpr int64_t kDay = int64_t{24} * 60 * 60;

std::optional<int64_t> SecondsOf(const ASN1_TIME* moment) {
  const std::unique_ptr<ASN1_TIME, FreeAll> epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (moment == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), moment) != 1) return std::nullopt;
  return days * kDay + seconds;
}

}  // namespace

std::optional<CertificateValidity> ValidityOf(const PemFile& file) {
  const std::unique_ptr<BIO, FreeAll> memory(BIO_new_mem_buf(file.text.data(), static_cast<int>(file.text.size())));
  std::optional<CertificateValidity> all;
  while (true) {
    const std::unique_ptr<X509, FreeAll> next(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    const auto begins = SecondsOf(X509_get0_notBefore(next.get()));
    const auto ends = SecondsOf(X509_get0_notAfter(next.get()));
    if (!begins || !ends) continue;
    if (!all) all = CertificateValidity{*begins, *ends};
    all->begins = std::max(all->begins, *begins);
    all->ends = std::min(all->ends, *ends);
  }
  // The end of the file is an error to OpenSSL.
  ERR_clear_error();
  return all;
}

std::string DateText(int64_t unix_seconds) {
  const std::unique_ptr<ASN1_TIME, FreeAll> moment(ASN1_TIME_set(nullptr, unix_seconds));
  const std::unique_ptr<BIO, FreeAll> memory(BIO_new(BIO_s_mem()));
  if (ASN1_TIME_print(memory.get(), moment.get()) != 1) return "";
  char* text = nullptr;
  const auto size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(size)};
}

}  // namespace penstock
