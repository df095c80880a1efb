#include "config/certificate_warnings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/values/certificate_validity.h"

namespace penstock {
namespace {

constexpr int64_t kDay = int64_t{24} * 60 * 60;
// A certificate that ends within it deserves a warning.
constexpr int64_t kSoon = 14 * kDay;

void WarnOf(absl::string_view place, const PemFile& file, int64_t now, std::vector<std::string>& warnings) {
  const std::optional<CertificateValidity> valid = ValidityOf(file);
  if (!valid) return;
  const std::string head = absl::StrCat(place, ": the certificate in ", file.path);
  const int64_t left = valid->ends - now;
  if (left < 0) {
    warnings.push_back(absl::StrCat(head, " has expired: it ended on ", DateText(valid->ends)));
  } else if (valid->begins > now) {
    warnings.push_back(absl::StrCat(head, " is not valid before ", DateText(valid->begins)));
  } else if (left < kSoon) {
    warnings.push_back(absl::StrCat(head, " ends in ", left / kDay, " days, on ", DateText(valid->ends)));
  }
}

}  // namespace

std::vector<std::string> CertificateWarnings(const Config& config, int64_t unix_now) {
  std::vector<std::string> warnings;
  if (config.tls) WarnOf("tls.certificate", config.tls->certificate, unix_now, warnings);
  if (config.admin_tls) WarnOf("admin_tls.certificate", config.admin_tls->certificate, unix_now, warnings);
  for (const ReplicaConfig& replica : config.replicas) {
    const std::string place = absl::StrCat("replicas: ", replica.id, ": tls.certificate");
    if (replica.tls) WarnOf(place, replica.tls->certificate, unix_now, warnings);
  }
  for (const NodeConfig& node : config.nodes) {
    for (const ExporterConfig& exporter : node.exporters) {
      const std::string place = absl::StrCat("nodes: ", node.id, ": tls.certificate");
      if (exporter.tls) WarnOf(place, exporter.tls->certificate, unix_now, warnings);
    }
  }
  return warnings;
}

}  // namespace penstock
