#include "config/read/yaml_document.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "config/read/map_reader.h"

namespace penstock {
namespace {

// The first byte that is not UTF-8 text is a finding.
void CheckEncoding(absl::string_view yaml, Findings& findings) {
  Place place{1, 1};
  for (size_t i = 0; i < yaml.size();) {
    const auto byte = static_cast<unsigned char>(yaml[i]);
    const auto* const at = reinterpret_cast<const unsigned char*>(yaml.data()) + i;
    const int length = ReadUtf8(at, at + (yaml.size() - i)).length;
    const bool control = byte < 32 && byte != '\n' && byte != '\r' && byte != '\t';
    if (length == 0 || control) {
      findings.Add(place, "", absl::StrCat("the file is not UTF-8 text: byte 0x", absl::Hex(byte, absl::kZeroPad2)));
      return;
    }
    place = byte == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
    i += static_cast<size_t>(length);
  }
}

// The first tab in front of the text of a line; YAML is indented by spaces.
std::optional<Place> IndentingTab(absl::string_view yaml) {
  Place place{1, 1};
  bool indentation = true;
  for (const char c : yaml) {
    if (indentation && c == '\t') return place;
    indentation = c == '\n' || (indentation && c == ' ');
    place = c == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
  }
  return std::nullopt;
}

// Walks over the text of YAML as far as brackets, quotes and comments go.
class FlowWalk {
 public:
  // True: the next character stands inside of [ ] or { }, and outside of quotes and comments.
  bool Take(char c) {
    if (c == '\n') comment_ = false;
    if (comment_) return false;
    if (quote_ != 0) {
      if (c == quote_) quote_ = 0;
      return false;
    }
    const bool begins = absl::StrContains(" \n:,[{", last_);
    last_ = c;
    comment_ = c == '#' && begins;
    if (begins && (c == '"' || c == '\'')) quote_ = c;
    if (comment_ || quote_ != 0) return false;
    if (c == '[' || c == '{') ++depth_;
    if (c == ']' || c == '}') depth_ = std::max(0, depth_ - 1);
    return depth_ > 0;
  }

 private:
  int depth_ = 0;
  char quote_ = 0;
  char last_ = '\n';
  bool comment_ = false;
};

// The first ${NAME} without quotes inside of [ ] or { }: its brace begins a mapping there.
std::optional<Place> BareVariable(absl::string_view yaml) {
  FlowWalk walk;
  Place place{1, 1};
  for (size_t i = 0; i < yaml.size(); ++i) {
    if (walk.Take(yaml[i]) && absl::StartsWith(yaml.substr(i), "${")) return place;
    place = yaml[i] == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
  }
  return std::nullopt;
}

// Names the cause where it is known; the parser meets it later, and calls it otherwise.
void AddFault(absl::string_view yaml, const YAML::Exception& error, Findings& findings) {
  const Place met = PlaceOf(error.mark);
  const std::optional<Place> tab = IndentingTab(yaml);
  const std::optional<Place> variable = BareVariable(yaml);
  if (tab && tab->line <= met.line) {
    findings.Add(*tab, "", "not valid YAML: a tab indents this line; indent with spaces");
  } else if (variable && variable->line <= met.line) {
    findings.Add(*variable, "", "not valid YAML: inside of [ ] and { }, a variable needs quotes: \"${NAME}\"");
  } else {
    findings.Add(met, "", absl::StrCat("not valid YAML: ", error.msg));
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
    YAML::Node document = YAML::Load(text);
    if (starts.empty() || (starts.size() == 1 && document.IsNull())) {
      findings.Add({1, 1}, "", "the file is empty; the smallest has replicas: [{url: http://127.0.0.1:8000}]");
    } else if (starts.size() > 1) {
      findings.Add(PlaceOf(starts[1]), "",
                   "the file has a second document (---), or text that ends the first; one is allowed");
    } else {
      return document;
    }
  } catch (const YAML::Exception& error) {
    AddFault(yaml, error, findings);
  }
  return std::nullopt;
}

}  // namespace penstock
