#include "config/map_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/units_text.h"

namespace penstock {
namespace {

constexpr absl::string_view kMergeKey = "<<";

std::string FormatCount(int64_t count) { return absl::StrCat(count); }

std::string KindOf(const YAML::Node& node) {
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  return node.IsNull() ? "empty" : "a plain value";
}

}  // namespace

Place PlaceOf(const YAML::Mark& mark) { return mark.is_null() ? Place{1, 1} : Place{mark.line + 1, mark.column + 1}; }

MapReader::MapReader(Findings& findings, const YAML::Node& node, std::string path, SectionId section)
    : findings_(&findings), path_(std::move(path)), mark_(node.Mark()) {
  if (!node.IsMap()) {
    findings_->Add(PlaceOf(mark_), path_, absl::StrCat("must be a mapping of keys to values, is ", KindOf(node)));
    return;
  }
  Collect(node, false);
  for (const Entry& entry : entries_) Check(entry, section);
}

void MapReader::Collect(const YAML::Node& node, bool merged) {
  std::vector<YAML::Node> merges;
  for (const auto& pair : node) {
    if (!pair.first.IsScalar()) {
      findings_->Add(PlaceOf(pair.first.Mark()), path_, "has a key that is not a plain name");
      continue;
    }
    const std::string& key = pair.first.Scalar();
    if (absl::string_view(key) == kMergeKey) {
      merges.push_back(pair.second);
    } else if (const Entry* first = Find(key); first == nullptr) {
      entries_.push_back({key, pair.first.Mark(), pair.second});
    } else if (!merged) {
      findings_->Add(PlaceOf(pair.first.Mark()), Path(key),
                     absl::StrCat("duplicate key, first in line ", PlaceOf(first->key_mark).line));
    }
  }
  for (const YAML::Node& merge : merges) Merge(merge);
}

void MapReader::Merge(const YAML::Node& value) {
  if (--merges_left_ < 0) {
    findings_->Add(PlaceOf(mark_), Path(kMergeKey), "merges more than 64 mappings");
    return;
  }
  if (value.IsMap()) return Collect(value, true);
  bool good = value.IsSequence();
  if (good) {
    for (const YAML::Node& part : value) {
      good = good && part.IsMap();
      if (part.IsMap()) Merge(part);
    }
  }
  if (!good) findings_->Add(PlaceOf(value.Mark()), Path(kMergeKey), "must be a mapping or a list of mappings");
}

void MapReader::Check(const Entry& entry, SectionId section) const {
  const Section& known = SectionOf(section);
  if (!known.keys.empty() && std::find(known.keys.begin(), known.keys.end(), entry.key) == known.keys.end()) {
    findings_->Add(
        PlaceOf(entry.key_mark), Path(entry.key),
        absl::StrCat("unknown key", Suggestion(entry.key, known.keys), ", known: ", absl::StrJoin(known.keys, " ")));
  } else if (entry.value.IsNull()) {
    findings_->Add(PlaceOf(entry.key_mark), Path(entry.key), "has no value; give one or leave the key out");
  }
}

const MapReader::Entry* MapReader::Find(absl::string_view key) const {
  for (const Entry& entry : entries_) {
    if (absl::string_view(entry.key) == key) return &entry;
  }
  return nullptr;
}

std::string MapReader::Path(absl::string_view key) const {
  return path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
}

bool MapReader::IsMap(absl::string_view key) const {
  const Entry* entry = Find(key);
  return entry != nullptr && entry->value.IsMap();
}

void MapReader::Fail(absl::string_view key, absl::string_view message) const {
  const Entry* entry = Find(key);
  findings_->Add(PlaceOf(entry ? entry->value.Mark() : mark_), Path(key), message);
}

void MapReader::FailAt(absl::string_view key, size_t index, absl::string_view message) const {
  const Entry* entry = Find(key);
  if (!entry || !entry->value.IsSequence() || index >= entry->value.size()) return Fail(key, message);
  findings_->Add(PlaceOf(entry->value[index].Mark()), absl::StrCat(Path(key), "[", index, "]"), message);
}

bool MapReader::Require(absl::string_view key, absl::string_view why) const {
  if (Has(key)) return true;
  Fail(key, why);
  return false;
}

std::optional<std::string> MapReader::Scalar(absl::string_view key, absl::string_view what) const {
  const Entry* entry = Find(key);
  if (!entry || entry->value.IsNull()) return std::nullopt;
  if (entry->value.IsScalar()) return entry->value.Scalar();
  Fail(key, absl::StrCat("must be ", what, ", is ", KindOf(entry->value)));
  return std::nullopt;
}

template <class T>
bool MapReader::Take(absl::string_view key, const absl::StatusOr<T>& parsed, T lowest, T highest,
                     std::string (*format)(T), T* out) const {
  if (!parsed.ok()) {
    Fail(key, absl::StrCat(absl::string_view(parsed.status().message()), "; allowed ", format(lowest), " to ",
                           format(highest)));
    return false;
  }
  if (*parsed < lowest || highest < *parsed) {
    Fail(key, absl::StrCat(format(*parsed), " is outside ", format(lowest), " to ", format(highest)));
    return false;
  }
  *out = *parsed;
  return true;
}

bool MapReader::ReadText(absl::string_view key, std::string* out) const {
  const std::optional<std::string> text = Scalar(key, "a text");
  if (!text) return false;
  const bool control =
      std::any_of(text->begin(), text->end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
  if (control) {
    Fail(key, "contains control characters");
    return false;
  }
  *out = *text;
  return true;
}

bool MapReader::ReadTexts(absl::string_view key, std::vector<std::string>* out) const {
  const Entry* entry = Find(key);
  if (!entry || entry->value.IsNull()) return false;
  if (!entry->value.IsSequence()) {
    Fail(key, absl::StrCat("must be a list of texts, is ", KindOf(entry->value)));
    return false;
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < entry->value.size(); ++i) {
    const YAML::Node& item = entry->value[i];
    if (!item.IsScalar() || item.Scalar().empty()) {
      FailAt(key, i, "must be a text");
      return false;
    }
    texts.push_back(item.Scalar());
  }
  *out = std::move(texts);
  return true;
}

bool MapReader::ReadFlag(absl::string_view key, bool* out) const {
  const std::optional<std::string> text = Scalar(key, "true or false");
  if (!text) return false;
  if (*text != "true" && *text != "false") {
    Fail(key, absl::StrCat("\"", *text, "\" is not true or false"));
    return false;
  }
  *out = *text == "true";
  return true;
}

bool MapReader::ReadCount(absl::string_view key, CountRange range, int64_t* out) const {
  const std::optional<std::string> text = Scalar(key, "a whole number");
  return text && Take(key, ParseCount(*text), range.lowest, range.highest, &FormatCount, out);
}

bool MapReader::ReadCount(absl::string_view key, CountRange range, int* out) const {
  int64_t value = 0;
  if (!ReadCount(key, range, &value)) return false;
  *out = static_cast<int>(value);
  return true;
}

bool MapReader::ReadCount(absl::string_view key, CountRange range, Tokens* out) const {
  int64_t value = 0;
  if (!ReadCount(key, range, &value)) return false;
  *out = Tokens(value);
  return true;
}

bool MapReader::ReadNumber(absl::string_view key, NumberRange range, double* out) const {
  const std::optional<std::string> text = Scalar(key, "a number");
  return text && Take(key, ParseNumber(*text), range.lowest, range.highest, &FormatNumber, out);
}

bool MapReader::ReadSize(absl::string_view key, SizeRange range, Bytes* out) const {
  const std::optional<std::string> text = Scalar(key, "a size");
  return text && Take(key, ParseSize(*text), range.lowest, range.highest, &FormatSize, out);
}

bool MapReader::ReadSize(absl::string_view key, SizeRange range, std::optional<Bytes>* out) const {
  Bytes value;
  if (!ReadSize(key, range, &value)) return false;
  *out = value;
  return true;
}

bool MapReader::ReadTime(absl::string_view key, TimeRange range, Duration* out) const {
  const std::optional<std::string> text = Scalar(key, "a duration");
  return text && Take(key, ParseDuration(*text), range.lowest, range.highest, &FormatDuration, out);
}

bool MapReader::ReadParameters(absl::string_view key, double* out) const {
  const std::optional<std::string> text = Scalar(key, "a number of parameters");
  return text && Take(key, ParseParameters(*text), 1e3, 1e15, &FormatNumber, out);
}

bool MapReader::ReadBandwidth(absl::string_view key, NumberRange range, double* out) const {
  const std::optional<std::string> text = Scalar(key, "a bandwidth");
  const auto format = [](double gb) { return absl::StrCat(FormatNumber(gb), "GB/s"); };
  return text && Take<double>(key, ParseBandwidth(*text), range.lowest, range.highest, +format, out);
}

std::optional<size_t> MapReader::ReadChoice(absl::string_view key, const std::vector<absl::string_view>& names) const {
  const std::optional<std::string> text = Scalar(key, "a name");
  if (!text) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), absl::string_view(*text));
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  Fail(key,
       absl::StrCat("unknown name \"", *text, "\"", Suggestion(*text, names), ", known: ", absl::StrJoin(names, " ")));
  return std::nullopt;
}

std::optional<MapReader> MapReader::ReadMap(absl::string_view key, SectionId section) const {
  const Entry* entry = Find(key);
  if (!entry || entry->value.IsNull()) return std::nullopt;
  return MapReader(*findings_, entry->value, Path(key), section);
}

std::vector<MapReader> MapReader::ReadMaps(absl::string_view key, SectionId section) const {
  std::vector<MapReader> readers;
  const Entry* entry = Find(key);
  if (!entry || entry->value.IsNull()) return readers;
  if (!entry->value.IsSequence()) {
    Fail(key, absl::StrCat("must be a list of mappings, is ", KindOf(entry->value)));
    return readers;
  }
  for (size_t i = 0; i < entry->value.size(); ++i) {
    readers.emplace_back(*findings_, entry->value[i], absl::StrCat(Path(key), "[", i, "]"), section);
  }
  return readers;
}

std::vector<std::string> MapReader::Keys() const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.push_back(entry.key);
  return keys;
}

}  // namespace penstock
