#include "config/config.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/keys/key_names.h"
#include "config/read/draft.h"
#include "config/read/named_files.h"
#include "config/read/yaml_document.h"
#include "config/text/addresses.h"
#include "config/text/findings.h"
#include "config/values/builtin_classes.h"

namespace penstock {
namespace {

constexpr size_t kLongestFile = 32 << 20;  // To load it takes about 1.5 GB and 15 s.
constexpr absl::string_view kShorten =
    ", the most of a configuration; keys without limits of their own can share a tenant, and entries fit one line each";

std::string FolderOf(const std::string& file) { return std::filesystem::path(file).parent_path().string(); }

// The paths of the YAML files in a folder, up to a bound.
std::vector<std::string> YamlFilesIn(const std::filesystem::path& folder) {
  constexpr size_t kMost = 100;
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error);
  for (; !error && entry != std::filesystem::directory_iterator() && files.size() < kMost; entry.increment(error)) {
    const std::filesystem::path name = entry->path().filename();
    if (name.extension() == ".yaml" || name.extension() == ".yml") files.push_back((folder / name).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The file that is meant by a path that cannot be read, as a question.
std::string MeantFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    const std::vector<std::string> inside = YamlFilesIn(path);
    return absl::StrCat("; name a file", inside.size() == 1 ? absl::StrCat(", such as ", inside.front()) : " in it");
  }
  if (std::filesystem::exists(path, error)) return "";
  const std::vector<std::string> near = YamlFilesIn(std::filesystem::path(path).parent_path());
  return Suggestion(path, {near.begin(), near.end()});
}

void AddJobsClass(std::vector<ClassConfig>& classes) {
  const bool given =
      std::any_of(classes.begin(), classes.end(), [](const ClassConfig& each) { return each.name == kJobsClass; });
  if (!given) classes.push_back(JobsClass());
}

}  // namespace

absl::StatusOr<Config> ParseConfig(absl::string_view yaml, const std::string& file, const LoadOptions& options) {
  Findings findings(file.empty() ? "config" : file);
  const std::optional<YAML::Node> root = ReadYamlDocument(yaml, findings);
  if (!root) return findings.Report();
  Draft draft{{}, MapReader(findings, *root, "", KeyNames<Config>()), {}, FolderOf(file), options.policies};
  if (!root->IsMap()) return findings.Report();
  draft.config.file = file;
  if (!file.empty()) draft.config.sources.push_back(file);
  ReadSections(draft);
  if (!draft.config.state.path.empty()) AddJobsClass(draft.config.classes);
  if (!options.listen.empty()) draft.config.listen = options.listen;
  CheckFleet(draft, options.need_replicas);
  if (!findings.empty()) return findings.Report();
  return std::move(draft.config);
}

absl::StatusOr<Config> LoadConfigFile(const std::string& path, const LoadOptions& options) {
  const absl::StatusOr<std::string> yaml = ReadWholeFile(path, "", kLongestFile);
  if (!yaml.ok()) {
    const bool too_long = absl::StrContains(yaml.status().message(), "is larger than");
    const std::string advice = too_long ? std::string(kShorten) : MeantFile(path);
    return absl::InvalidArgumentError(absl::StrCat(path, ":1:1: ", yaml.status().message(), advice));
  }
  return ParseConfig(*yaml, path, options);
}

absl::StatusOr<Config> ConfigFromUrls(const std::string& listen, const std::vector<std::string>& urls) {
  Config config;
  if (!listen.empty()) config.listen = listen;
  config.classes = UnnamedBuiltinClasses();
  config.classes[kStandardClass].is_default = true;
  const absl::StatusOr<ListenAddress> address = ParseListen(config.listen);
  if (!address.ok()) return absl::InvalidArgumentError(absl::StrCat("--listen: ", address.status().message()));
  if (urls.empty()) return absl::InvalidArgumentError("--replica: at least one is required without --config");
  std::set<std::string> known;
  for (const std::string& text : urls) {
    const absl::StatusOr<EngineUrl> url = ParseEngineUrl(text);
    if (!url.ok()) return absl::InvalidArgumentError(absl::StrCat("--replica: ", url.status().message()));
    if (Reaches(*url, *address)) {
      return absl::InvalidArgumentError(absl::StrCat("--replica: ", text, " is the address of this router, --listen ",
                                                     config.listen, "; give the address of an engine"));
    }
    ReplicaConfig replica;
    replica.id = absl::StrCat(url->Name(), url->base_path);
    replica.url = text;
    if (!known.insert(url->Key()).second)
      return absl::InvalidArgumentError(absl::StrCat("--replica: ", text, " is given twice"));
    config.replicas.push_back(std::move(replica));
  }
  return config;
}

}  // namespace penstock
