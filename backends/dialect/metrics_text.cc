#include "backends/dialect/metrics_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace penstock {
namespace {

// The position after the closing quote. The quoted text begins at `at`. npos when no quote closes it.
size_t QuoteEnd(absl::string_view text, size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return absl::string_view::npos;
}

// The position of the closing brace outside of quotes.
size_t BraceEnd(absl::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '}') return at;
    if (text[at] != '"') continue;
    at = QuoteEnd(text, at + 1);
    if (at == absl::string_view::npos) return at;
    --at;
  }
  return absl::string_view::npos;
}

std::string Unescape(absl::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      plain += text[at] == 'n' ? '\n' : text[at];
    } else {
      plain += text[at];
    }
  }
  return plain;
}

absl::string_view TakeWord(absl::string_view* text) {
  *text = absl::StripLeadingAsciiWhitespace(*text);
  const absl::string_view word = text->substr(0, text->find_first_of(" \t"));
  text->remove_prefix(word.size());
  return word;
}

std::optional<MetricSample> ParseLine(absl::string_view line) {
  MetricSample sample;
  const size_t name_end = line.find_first_of("{ \t");
  if (name_end == absl::string_view::npos || name_end == 0) return std::nullopt;
  sample.name = line.substr(0, name_end);
  line.remove_prefix(name_end);
  if (line[0] == '{') {
    line.remove_prefix(1);
    const size_t brace = BraceEnd(line);
    if (brace == absl::string_view::npos) return std::nullopt;
    sample.labels = line.substr(0, brace);
    line.remove_prefix(brace + 1);
  }
  if (!absl::SimpleAtod(TakeWord(&line), &sample.value)) return std::nullopt;
  return sample;
}

}  // namespace

std::optional<std::string> MetricSample::Label(absl::string_view key) const {
  absl::string_view rest = labels;
  while (true) {
    const size_t equals = rest.find('=');
    if (equals == absl::string_view::npos) return std::nullopt;
    const absl::string_view found = absl::StripAsciiWhitespace(rest.substr(0, equals));
    const size_t open = rest.find('"', equals);
    if (open == absl::string_view::npos) return std::nullopt;
    const size_t end = QuoteEnd(rest, open + 1);
    if (end == absl::string_view::npos) return std::nullopt;
    if (found == key) return Unescape(rest.substr(open + 1, end - open - 2));
    const size_t comma = rest.find(',', end);
    if (comma == absl::string_view::npos) return std::nullopt;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<MetricSample> MetricsReader::Next() {
  while (!rest_.empty()) {
    const size_t newline = rest_.find('\n');
    const absl::string_view line = absl::StripAsciiWhitespace(rest_.substr(0, newline));
    rest_.remove_prefix(newline == absl::string_view::npos ? rest_.size() : newline + 1);
    if (line.empty() || line[0] == '#') continue;
    if (auto sample = ParseLine(line)) return sample;
    ++malformed_;
  }
  return std::nullopt;
}

}  // namespace penstock
