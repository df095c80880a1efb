#include "config/read/yaml_document.h"

#include <yaml-cpp/eventhandler.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/read/map_reader.h"

namespace penstock {
namespace {

// Length of the UTF-8 sequence at the head of `text`; 0 when it is overlong, a surrogate or cut.
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

// Finds the starts of the first two documents of a file. YAML::LoadAll would not end on some malformed files, such as
// one with a comma at the start of a line.
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

}  // namespace

std::optional<YAML::Node> ReadYamlDocument(absl::string_view yaml, Findings& findings) {
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

}  // namespace penstock
