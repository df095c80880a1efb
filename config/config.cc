#include "config/config.h"

#include <yaml-cpp/eventhandler.h>

#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "config/addresses.h"
#include "config/draft.h"

namespace penstock {
namespace {

constexpr size_t kLongestFile = 4 << 20;

// Length of the UTF-8 sequence at the head of `text`, 0 when it is none (overlong, surrogate, cut).
size_t SequenceLength(absl::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (at(i) & 0xC0u) == 0x80u; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool good =
        continues(1) && continues(2) && !(lead == 0xE0 && at(1) < 0xA0) && !(lead == 0xED && at(1) > 0x9F);
    return good ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool good = continues(1) && continues(2) && continues(3) && !(lead == 0xF0 && at(1) < 0x90) &&
                      !(lead == 0xF4 && at(1) > 0x8F);
    return good ? 4 : 0;
  }
  return 0;
}

// The first byte that is not UTF-8 text is a finding.
void CheckEncoding(absl::string_view yaml, Findings& findings) {
  Place place{1, 1};
  for (size_t i = 0; i < yaml.size();) {
    const auto byte = static_cast<unsigned char>(yaml[i]);
    const size_t length = SequenceLength(yaml.substr(i, 4));
    const bool control = byte < 32 && byte != '\n' && byte != '\r' && byte != '\t';
    if (length == 0 || control) {
      findings.Add(place, "", absl::StrCat("the file is not UTF-8 text: byte 0x", absl::Hex(byte, absl::kZeroPad2)));
      return;
    }
    place = byte == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
    i += length;
  }
}

// Where the documents of a file begin, the first two. (yaml-cpp's LoadAll makes documents without end of some malformed
// files, a comma at the start of a line for one.)
class DocumentStarts : public YAML::EventHandler {
 public:
  static std::vector<YAML::Mark> Of(const std::string& yaml) {
    std::istringstream stream(yaml);
    YAML::Parser parser(stream);
    DocumentStarts starts;
    while (starts.found_.size() < 2 && parser.HandleNextDocument(starts)) {
    }
    return starts.found_;
  }

  void OnDocumentStart(const YAML::Mark& mark) override { found_.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  std::vector<YAML::Mark> found_;
};

std::optional<YAML::Node> ParseYaml(absl::string_view yaml, Findings& findings) {
  CheckEncoding(yaml, findings);
  if (!findings.empty()) return std::nullopt;
  try {
    const std::string text(yaml);
    const std::vector<YAML::Mark> starts = DocumentStarts::Of(text);
    const YAML::Node document = YAML::Load(text);
    if (starts.empty() || (starts.size() == 1 && document.IsNull())) {
      findings.Add({1, 1}, "", "the file is empty; the smallest has replicas: [{url: http://127.0.0.1:8000}]");
    } else if (starts.size() > 1) {
      findings.Add(PlaceOf(starts[1]), "",
                   "the file has a second document (---), or text that ends the first; one is allowed");
    } else {
      return document;
    }
  } catch (const YAML::Exception& error) {
    findings.Add(PlaceOf(error.mark), "", absl::StrCat("not valid YAML: ", error.msg));
  }
  return std::nullopt;
}

std::string FolderOf(const std::string& file) { return std::filesystem::path(file).parent_path().string(); }

}  // namespace

absl::StatusOr<Config> ParseConfig(absl::string_view yaml, const std::string& file, const LoadOptions& options) {
  Findings findings(file.empty() ? "config" : file);
  const std::optional<YAML::Node> root = ParseYaml(yaml, findings);
  if (!root) return findings.Report();
  Draft draft{{}, MapReader(findings, *root, "", SectionId::kRoot), {}, {}, {}, {}, FolderOf(file)};
  if (!root->IsMap()) return findings.Report();
  draft.config.file = file;
  if (!file.empty()) draft.config.sources.push_back(file);
  ReadGpus(draft);
  ReadModels(draft);
  ReadReplicas(draft);
  ReadClasses(draft);
  ReadTenants(draft);
  ReadListenTls(draft);
  ReadOtherSections(draft, options.policies);
  CheckFleet(draft, options);
  if (!findings.empty()) return findings.Report();
  return std::move(draft.config);
}

absl::StatusOr<Config> LoadConfigFile(const std::string& path, const LoadOptions& options) {
  const absl::StatusOr<std::string> yaml = ReadWholeFile(path, "", kLongestFile);
  if (!yaml.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ":1:1: ", yaml.status().message()));
  return ParseConfig(*yaml, path, options);
}

absl::StatusOr<Config> ConfigFromUrls(const std::string& listen, const std::vector<std::string>& urls) {
  Config config;
  config.listen = listen;
  config.classes = BuiltinClasses();
  config.classes[1].is_default = true;
  const absl::StatusOr<HostPort> address = ParseListen(listen);
  if (!address.ok()) return absl::InvalidArgumentError(absl::StrCat("--listen: ", address.status().message()));
  if (urls.empty()) return absl::InvalidArgumentError("--replica: at least one is required without --config");
  for (const std::string& text : urls) {
    const absl::StatusOr<EngineUrl> url = ParseEngineUrl(text);
    if (!url.ok()) return absl::InvalidArgumentError(absl::StrCat("--replica: ", url.status().message()));
    ReplicaConfig replica;
    replica.id = absl::StrCat(url->Name(), url->base_path);
    replica.url = text;
    for (const ReplicaConfig& other : config.replicas) {
      if (other.id == replica.id)
        return absl::InvalidArgumentError(absl::StrCat("--replica: ", text, " is given twice"));
    }
    config.replicas.push_back(std::move(replica));
  }
  return config;
}

}  // namespace penstock
