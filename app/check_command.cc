#include <unistd.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <optional>
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
#include "backends/names/look_ups_together.h"
#include "backends/names/several_addresses.h"
#include "base/harmless.h"
#include "config/certificate_warnings.h"
#include "config/config.h"
#include "config/text/addresses.h"
#include "config/values/gpu_slice.h"
#include "config/values/in_effect.h"
#include "router/fleet/sleep_plan.h"

namespace penstock {

namespace {

namespace asio = boost::asio;

// All names share it.
constexpr Duration kLookUpLimit = Duration::Seconds(5);

// True: the name server said nothing. A name that does not exist here may exist on another machine.
bool IsUnanswered(const std::optional<NameAnswer>& answer) {
  return !answer || answer->error == asio::error::host_not_found_try_again;
}

struct NameFindings {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

NameFindings CheckNames(const Config& config) {
  std::vector<const ReplicaConfig*> replicas;
  std::vector<std::string> names;
  for (const ReplicaConfig& replica : config.replicas) {
    const absl::StatusOr<EngineUrl> url = ParseEngineUrl(replica.url);
    if (!url.ok() || url->IsLoopback() || url->address.host.empty()) continue;
    replicas.push_back(&replica);
    names.push_back(url->address.host);
  }
  const std::vector<std::optional<NameAnswer>> answers = LookUpTogether(names, kLookUpLimit);
  NameFindings findings;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string begin = absl::StrCat("replicas: ", replicas[i]->id, ": ", names[i]);
    if (IsUnanswered(answers[i])) {
      findings.warnings.push_back(absl::StrCat(begin, ": no name server answered in time: its addresses are unknown"));
      continue;
    }
    const std::vector<std::string> several = SeveralAddresses(answers[i]->addresses);
    if (several.empty()) continue;
    findings.errors.push_back(absl::StrCat(begin, " has several addresses (", absl::StrJoin(several, ", "),
                                           "): write a replica for each engine"));
  }
  return findings;
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

// The folder of the job store is there, or can be made in its parent. Warnings() tells of a file in its place.
std::optional<std::string> ClosedStore(const Config& config) {
  std::filesystem::path path = config.state.path;
  if (path.empty()) return std::nullopt;
  if (!path.has_filename()) path = path.parent_path();
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const bool is_file = there && !std::filesystem::is_directory(path, ignored);
  if (is_file || access((there ? path : parent).c_str(), W_OK) == 0) return std::nullopt;
  return absl::StrCat("state.path: ", path.string(), ": ", std::strerror(errno));
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
  for (const std::string& warning : SleepKindWarnings(*config))
    std::cerr << config_file << ": warning: " << Harmless(warning) << "\n";
  for (const std::string& warning : CertificateWarnings(*config, std::time(nullptr))) {
    std::cerr << config_file << ": warning: " << Harmless(warning) << "\n";
  }
  for (const GpuConfig& gpu : config->gpus) {
    const std::string part = PartText(gpu);
    if (!part.empty()) std::cerr << config_file << ": note: gpus: " << gpu.id << " " << part << "\n";
  }
  // The file may be meant for another machine.
  for (const auto& closed : {ClosedLog(*config), ClosedStore(*config)}) {
    if (closed) std::cerr << config_file << ": warning: " << Harmless(*closed) << "\n";
  }
  NameFindings names = CheckNames(*config);
  for (const std::string& warning : names.warnings)
    std::cerr << config_file << ": warning: " << Harmless(warning) << "\n";
  if (std::string harm = HarmOfLog(config->log.path, *config); !harm.empty()) names.errors.push_back(std::move(harm));
  for (const std::string& error : names.errors) std::cerr << config_file << ": " << Harmless(error) << "\n";
  if (!names.errors.empty()) return 1;
  std::cout << PrintConfig(InEffect(*config)) << std::flush;
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
