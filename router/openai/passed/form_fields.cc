#include "router/openai/passed/form_fields.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

constexpr absl::string_view kLineEnd = "\r\n";
constexpr absl::string_view kHeadEnd = "\r\n\r\n";
// Bytes of a text that are looked at; the others count as letters.
constexpr size_t kLongestCounted = 256 << 10;

// Calls visit(name, value) for each parameter, as in `form-data; name="x"`.
template <class Visit>
void ForEachParameter(absl::string_view field, Visit&& visit) {
  size_t at = field.find(';');
  while (at < field.size()) {
    const size_t begin = field.find_first_not_of("; \t", at);
    if (begin == absl::string_view::npos) break;
    const size_t equals = field.find_first_of("=;", begin);
    if (equals == absl::string_view::npos) break;
    const absl::string_view key = absl::StripAsciiWhitespace(field.substr(begin, equals - begin));
    at = equals;
    if (field[equals] == ';') continue;
    std::string value;
    size_t from = equals + 1;
    if (from < field.size() && field[from] == '"') {
      for (++from; from < field.size() && field[from] != '"'; ++from) {
        if (field[from] == '\\' && from + 1 < field.size()) ++from;
        value.push_back(field[from]);
      }
      at = field.find(';', from);
    } else {
      at = field.find(';', from);
      value = std::string(absl::StripAsciiWhitespace(field.substr(from, std::min(at, field.size()) - from)));
    }
    visit(key, value);
  }
}

// Unset when absent; the first counts.
std::optional<std::string> Parameter(absl::string_view field, absl::string_view name) {
  std::optional<std::string> found;
  ForEachParameter(field, [&](absl::string_view key, const std::string& value) {
    if (!found && absl::EqualsIgnoreCase(key, name)) found = value;
  });
  return found;
}

// The parameters of the head of a part.
struct PartParameters {
  int names = 0;
  bool coded_name = false;  // name*, as of RFC 5987.
  bool file = false;
  std::string name;
};

PartParameters ReadPartParameters(absl::string_view field) {
  PartParameters read;
  ForEachParameter(field, [&read](absl::string_view key, const std::string& value) {
    read.coded_name |= absl::EqualsIgnoreCase(key, "name*");
    read.file |= absl::EqualsIgnoreCase(key, "filename") || absl::EqualsIgnoreCase(key, "filename*");
    if (!absl::EqualsIgnoreCase(key, "name")) return;
    ++read.names;
    read.name = value;
  });
  return read;
}

bool IsHeader(absl::string_view line) {
  const size_t colon = line.find(':');
  return colon != 0 && colon != absl::string_view::npos && line[0] != ' ' && line[0] != '\t' &&
         line.find_first_of(kLineEnd) == absl::string_view::npos;
}

TextCounts CountField(absl::string_view text) {
  TextCounts counts = CountText(text.substr(0, kLongestCounted));
  if (text.size() > kLongestCounted) counts.latin += static_cast<int64_t>(text.size() - kLongestCounted);
  return counts;
}

}  // namespace

FormFields::FormFields(absl::string_view body, absl::string_view content_type, absl::string_view model,
                       const std::vector<std::string>& prompts)
    : body_(body), model_(model), prompts_(prompts) {
  const std::string boundary = Parameter(content_type, "boundary").value_or("");
  if (boundary.empty() || boundary.size() > kLongestBoundary) {
    Fail(absl::StrCat("The content type needs a boundary of 1 to ", kLongestBoundary, " characters."));
    return;
  }
  delimiter_ = absl::StrCat("\r\n--", boundary);
}

bool FormFields::Fail(absl::string_view message) {
  error_ = MakeError(ErrorName::kInvalidForm, message);
  state_ = State::kEnded;
  return true;
}

bool FormFields::Advance(size_t bytes) {
  const size_t stop = at_ + bytes;
  while (state_ != State::kEnded) {
    if (at_ >= stop) return false;
    if (!Step(stop - at_)) return false;
  }
  return true;
}

size_t FormFields::Find(absl::string_view wanted, size_t bytes) {
  const size_t end = std::min(body_.size(), at_ + bytes + wanted.size());
  const size_t found = body_.substr(0, end).find(wanted, at_);
  if (found == absl::string_view::npos && end < body_.size()) at_ = end - wanted.size() + 1;
  if (found == absl::string_view::npos && end == body_.size()) at_ = body_.size();
  return found;
}

// False: the slice is over.
bool FormFields::Step(size_t bytes) {
  const absl::string_view first = absl::string_view(delimiter_).substr(kLineEnd.size());
  const bool opens = state_ == State::kPreamble && at_ == 0 && absl::StartsWith(body_, first);
  if (opens) {
    at_ = first.size();
    state_ = State::kDelimiter;
    return true;
  }
  if (state_ == State::kDelimiter) return EndDelimiter();
  if (state_ == State::kHead) return EndHead();
  const size_t found = Find(delimiter_, bytes);
  if (found == absl::string_view::npos) {
    if (at_ < body_.size()) return false;
    return Fail("The form has no closing boundary, or breaks off.");
  }
  if (state_ == State::kContent) EndContent(found);
  at_ = found + delimiter_.size();
  state_ = State::kDelimiter;
  return true;
}

bool FormFields::EndDelimiter() {
  const absl::string_view rest = body_.substr(at_);
  if (absl::StartsWith(rest, "--")) {
    state_ = State::kEnded;
    return true;
  }
  const size_t line = rest.substr(0, kLongestPadding + 1).find_first_not_of(" \t");
  if (line == absl::string_view::npos || !absl::StartsWith(rest.substr(line), kLineEnd)) {
    return Fail(absl::StrCat("The form is wrong near byte ", at_, ": a boundary line does not end."));
  }
  if (++parts_ > kMostParts) return Fail(absl::StrCat("The form has more than ", kMostParts, " parts."));
  at_ += line;  // The head's end may begin with this line end, where the part has no header.
  state_ = State::kHead;
  return true;
}

bool FormFields::EndHead() {
  const size_t found = body_.substr(at_, kLongestPartHead).find(kHeadEnd);
  if (found == absl::string_view::npos) {
    return Fail(absl::StrCat("The form is wrong near byte ", at_, ": the head of a part breaks off or is too long."));
  }
  name_.clear();
  bool disposed = false;
  for (const absl::string_view line : absl::StrSplit(body_.substr(at_, found), kLineEnd, absl::SkipEmpty())) {
    if (!IsHeader(line)) {
      return Fail(absl::StrCat("The form is wrong near byte ", at_, ": a line in the head of a part is no header."));
    }
    const size_t colon = line.find(':');
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(line.substr(0, colon)), "content-disposition")) continue;
    const PartParameters read = ReadPartParameters(line.substr(colon + 1));
    // Readers of forms differ in which of two names counts.
    if (std::exchange(disposed, true) || read.names > 1 || read.coded_name) {
      return Fail(absl::StrCat("The form is wrong near byte ", at_, ": a part may have only one plain `name`."));
    }
    if (!read.file) name_ = read.name;
  }
  begin_ = at_ + found + kHeadEnd.size();
  // An empty content begins with the line end of its delimiter, which may be that of the head.
  at_ = begin_ - kLineEnd.size();
  state_ = State::kContent;
  return true;
}

void FormFields::EndContent(size_t end) {
  const JsonSpan content{begin_, std::max(begin_, end)};
  if (!model_.empty() && name_ == model_) {
    twice_ |= model_at_.has_value();
    model_at_ = content;
  } else if (!name_.empty() && std::find(prompts_.begin(), prompts_.end(), name_) != prompts_.end()) {
    any_prompt_ = true;
    text_ += CountField(body_.substr(content.begin, content.size()));
  }
}

}  // namespace penstock
