#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/commands.h"
#include "app/live_check.h"
#include "app/load_config.h"
#include "app/serve/written_files.h"
#include "base/harmless.h"
#include "config/certificate_warnings.h"
#include "config/config.h"
#include "config/text/addresses.h"
#include "config/values/gpu_slice.h"

namespace penstock {

namespace {

namespace asio = boost::asio;

// The addresses of one family that a name has beyond one. Nothing where it has one, or cannot be looked up here.
std::vector<std::string> SeveralAddresses(asio::ip::tcp::resolver& resolver, const std::string& host) {
  boost::system::error_code error;
  std::set<std::string> four;
  std::set<std::string> six;
  for (const auto& entry : resolver.resolve(host, "", error)) {
    const asio::ip::address address = entry.endpoint().address();
    (address.is_v4() ? four : six).insert(address.to_string());
  }
  const std::set<std::string>& more = four.size() > 1 ? four : six;
  if (more.size() < 2) return {};
  return {more.begin(), more.end()};
}

// One replica has one ledger of memory, so a name that stands for several engines has to be several replicas. An IPv4
// and an IPv6 address are one host.
std::vector<std::string> SharedNames(const Config& config) {
  asio::io_context loop;
  asio::ip::tcp::resolver resolver(loop);
  std::vector<std::string> errors;
  for (const ReplicaConfig& replica : config.replicas) {
    const absl::StatusOr<EngineUrl> url = ParseEngineUrl(replica.url);
    if (!url.ok() || url->IsLoopback()) continue;
    const std::vector<std::string> several = SeveralAddresses(resolver, url->address.host);
    if (several.empty()) continue;
    errors.push_back(absl::StrCat("replicas: ", replica.id, ": ", url->address.host, " has several addresses (",
                                  absl::StrJoin(several, ", "), "): write a replica for each engine"));
  }
  return errors;
}

// The file of the log is there and takes lines, or its folder takes a new file.
std::optional<std::string> ClosedLog(const Config& config) {
  const std::filesystem::path path = config.log.path;
  if (path.empty()) return std::nullopt;
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (!is_folder && access((there ? path : folder).c_str(), W_OK) == 0) return std::nullopt;
  return absl::StrCat("log.path: ", path.string(), ": ", is_folder ? "it is a folder" : std::strerror(errno));
}

// Prints one line per engine.
bool AllWell(const std::string& config_file, const Config& config) {
  const std::vector<LiveFinding> findings = AskEngines(config);
  for (const LiveFinding& finding : findings) {
    std::cerr << config_file << ": replicas: " << finding.replica << ": " << (finding.ok ? "ok: " : "")
              << Harmless(finding.text) << "\n";
  }
  if (findings.empty()) std::cerr << config_file << ": no replica has a url: there is no engine to ask\n";
  return std::all_of(findings.begin(), findings.end(), [](const LiveFinding& finding) { return finding.ok; });
}

}  // namespace

int RunCheck(const CheckOptions& options) {
  const std::string& config_file = options.config_file;
  const absl::StatusOr<Config> config = LoadCheckedConfig(config_file);
  if (!config.ok()) {
    std::cerr << Harmless(config.status().message(), "\n") << "\n";
    return 1;
  }
  for (const std::string& warning : Warnings(*config))
    std::cerr << config_file << ": warning: " << Harmless(warning) << "\n";
  for (const std::string& warning : CertificateWarnings(*config, std::time(nullptr))) {
    std::cerr << config_file << ": warning: " << Harmless(warning) << "\n";
  }
  for (const GpuConfig& gpu : config->gpus) {
    const std::string part = PartText(gpu);
    if (!part.empty()) std::cerr << config_file << ": note: gpus: " << gpu.id << " " << part << "\n";
  }
  // The file may be meant for another machine.
  if (const auto closed = ClosedLog(*config)) std::cerr << config_file << ": warning: " << Harmless(*closed) << "\n";
  std::vector<std::string> errors = SharedNames(*config);
  if (std::string harm = HarmOfLog(config->log.path, *config); !harm.empty()) errors.push_back(std::move(harm));
  for (const std::string& error : errors) std::cerr << config_file << ": " << Harmless(error) << "\n";
  if (!errors.empty()) return 1;
  std::cout << PrintConfig(*config) << std::flush;
  if (!std::cout) return 1;
  if (options.live && !AllWell(config_file, *config)) return 1;
  std::cerr << config_file << ": ok\n";
  return 0;
}

int RunVersion() {
  std::cout << "penstock " << PENSTOCK_VERSION << '\n' << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace penstock
