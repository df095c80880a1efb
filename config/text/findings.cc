#include "config/text/findings.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {
namespace {

// Bytes of a message beyond it are cut: it may quote a value of the file.
constexpr size_t kMostText = 8 << 10;

// Edits between two words; two neighbours that change places are one edit. Three rows of the table at a time.
size_t Edits(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({row[j - 1] + 1, above[j] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

// The candidates that go on where `wanted` ends, in quotes: a100-40 and a100-80 for a100. Nothing where most would.
std::vector<std::string> LongerOnes(const std::string& wanted, const std::vector<absl::string_view>& candidates) {
  constexpr size_t kShortest = 3;
  constexpr size_t kMost = 3;
  std::vector<std::string> longer;
  if (wanted.size() < kShortest) return longer;
  for (const absl::string_view candidate : candidates) {
    if (candidate.size() > wanted.size() && absl::StartsWithIgnoreCase(candidate, wanted)) {
      longer.push_back(absl::StrCat("\"", candidate, "\""));
    }
  }
  if (longer.size() > kMost) longer.clear();
  return longer;
}

}  // namespace

void Findings::Add(Place place, absl::string_view key, absl::string_view message) {
  if (full()) {
    ++more_;
    return;
  }
  std::string text = absl::StrCat(file_, ":", place.line, ":", place.column, ": ");
  if (!key.empty()) absl::StrAppend(&text, key, ": ");
  absl::StrAppend(&text, message.substr(0, kMostText));
  if (message.size() > kMostText) absl::StrAppend(&text, "...");
  const bool repeated =
      std::any_of(findings_.begin(), findings_.end(), [&](const Finding& finding) { return finding.text == text; });
  if (!repeated) findings_.push_back({place, std::move(text)});
}

absl::Status Findings::Report() const {
  if (findings_.empty()) return absl::OkStatus();
  std::vector<Finding> sorted = findings_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
  });
  std::string text =
      absl::StrJoin(sorted, "\n", [](std::string* out, const Finding& finding) { absl::StrAppend(out, finding.text); });
  if (more_ > 0) absl::StrAppend(&text, "\n", file_, ": and ", more_, " more");
  return absl::InvalidArgumentError(text);
}

std::string Suggestion(absl::string_view given, const std::vector<absl::string_view>& candidates) {
  const std::string wanted = absl::AsciiStrToLower(given.substr(0, 128));
  const std::vector<std::string> longer = LongerOnes(wanted, candidates);
  if (!longer.empty()) return absl::StrCat(" (did you mean ", absl::StrJoin(longer, " or "), "?)");
  size_t best = std::max<size_t>(1, wanted.size() / 3) + 1;
  absl::string_view nearest;
  for (const absl::string_view candidate : candidates) {
    if (candidate == given) continue;
    const size_t edits = Edits(wanted, absl::AsciiStrToLower(candidate));
    if (edits < best) {
      best = edits;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : absl::StrCat(" (did you mean \"", nearest, "\"?)");
}

std::string KnownNames(const std::vector<absl::string_view>& names) {
  if (names.empty()) return "none";
  if (names.size() <= kMostNames) return absl::StrJoin(names, " ");
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(kMostNames);
  return absl::StrCat(absl::StrJoin(names.begin(), end, " "), " and ", names.size() - kMostNames, " more");
}

}  // namespace penstock
