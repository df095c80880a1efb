#include "config/read/map_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr absl::string_view kMergeKey = "<<";
// From so many entries on, a table finds them.
constexpr size_t kMany = 64;

std::string KindOf(const YAML::Node& node) {
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  return node.IsNull() ? "empty" : "a plain value";
}

}  // namespace

Place PlaceOf(const YAML::Mark& mark) { return mark.is_null() ? Place{1, 1} : Place{mark.line + 1, mark.column + 1}; }

MapReader::MapReader(Findings& findings, const YAML::Node& node, std::string path, const KeyList& known)
    : findings_(&findings), path_(std::move(path)), mark_(node.Mark()) {
  if (!node.IsMap()) {
    findings_->Add(PlaceOf(mark_), path_, absl::StrCat("must be a mapping of keys to values, is ", KindOf(node)));
    return;
  }
  Collect(node, false);
  for (const Entry& entry : entries_) Check(entry, known);
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
      Add({key, pair.first.Mark(), pair.second});
    } else if (!merged) {
      findings_->Add(PlaceOf(pair.first.Mark()), PathOf(key),
                     absl::StrCat("duplicate key, first in line ", PlaceOf(first->key_mark).line));
    }
  }
  for (const YAML::Node& merge : merges) Merge(merge);
}

void MapReader::Merge(const YAML::Node& value) {
  if (--merges_left_ < 0) {
    findings_->Add(PlaceOf(mark_), PathOf(kMergeKey), "merges more than 64 mappings");
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
  if (!good) findings_->Add(PlaceOf(value.Mark()), PathOf(kMergeKey), "must be a mapping or a list of mappings");
}

void MapReader::Check(const Entry& entry, const KeyList& known) const {
  if (!known.empty() && std::find(known.begin(), known.end(), entry.key) == known.end()) {
    findings_->Add(PlaceOf(entry.key_mark), PathOf(entry.key),
                   absl::StrCat("unknown key", Suggest(entry.key, known), ", known: ", KnownNames(known)));
  } else if (entry.value.IsNull()) {
    findings_->Add(PlaceOf(entry.key_mark), PathOf(entry.key), "has no value; give one or leave the key out");
  }
}

void MapReader::Add(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() < kMany) return;
  for (size_t i = places_.size(); i < entries_.size(); ++i) places_.emplace(entries_[i].key, i);
}

const MapReader::Entry* MapReader::Find(absl::string_view key) const {
  if (!places_.empty()) {
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : &entries_[found->second];
  }
  for (const Entry& entry : entries_) {
    if (absl::string_view(entry.key) == key) return &entry;
  }
  return nullptr;
}

std::string MapReader::PathOf(absl::string_view key) const {
  return path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
}

bool MapReader::IsMap(absl::string_view key) const {
  const Entry* entry = Find(key);
  return entry != nullptr && entry->value.IsMap();
}

bool MapReader::IsNull(absl::string_view key) const {
  const Entry* entry = Find(key);
  return entry && entry->value.IsNull();
}

void MapReader::Fail(absl::string_view key, absl::string_view message) const {
  const Entry* entry = Find(key);
  findings_->Add(PlaceOf(entry ? entry->value.Mark() : mark_), PathOf(key), message);
}

void MapReader::FailAt(absl::string_view key, size_t index, absl::string_view message) const {
  const Entry* entry = Find(key);
  if (!entry || !entry->value.IsSequence() || index >= entry->value.size()) return Fail(key, message);
  findings_->Add(PlaceOf(entry->value[index].Mark()), absl::StrCat(PathOf(key), "[", index, "]"), message);
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

std::optional<std::vector<std::string>> MapReader::Texts(absl::string_view key) const {
  const Entry* entry = Find(key);
  if (!entry || entry->value.IsNull()) return std::nullopt;
  if (!entry->value.IsSequence()) {
    Fail(key, absl::StrCat("must be a list of texts, is ", KindOf(entry->value)));
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < entry->value.size(); ++i) {
    const YAML::Node& item = entry->value[i];
    if (!item.IsScalar() || item.Scalar().empty()) {
      FailAt(key, i, "must be a text");
      return std::nullopt;
    }
    texts.push_back(item.Scalar());
  }
  return texts;
}

std::optional<MapReader> MapReader::ReadMap(absl::string_view key, const KeyList& known) const {
  const Entry* entry = Find(key);
  if (!entry || entry->value.IsNull()) return std::nullopt;
  return MapReader(*findings_, entry->value, PathOf(key), known);
}

std::vector<MapReader> MapReader::ReadMaps(absl::string_view key, const KeyList& known, size_t most) const {
  std::vector<MapReader> readers;
  const Entry* entry = Find(key);
  if (!entry || entry->value.IsNull()) return readers;
  if (!entry->value.IsSequence()) {
    Fail(key, absl::StrCat("must be a list of mappings, is ", KindOf(entry->value)));
    return readers;
  }
  const size_t size = entry->value.size();
  if (size > most) Fail(key, absl::StrCat("has ", size, " entries, more than ", most));
  for (size_t i = 0; i < std::min(size, most); ++i) {
    readers.emplace_back(*findings_, entry->value[i], absl::StrCat(PathOf(key), "[", i, "]"), known);
  }
  return readers;
}

std::optional<MapReader> MapReader::ReadNames(absl::string_view key, size_t most) const {
  const Entry* entry = Find(key);
  if (!entry || !entry->value.IsMap() || entry->value.size() <= most) return ReadMap(key, kAnyKey);
  Fail(key, absl::StrCat("has ", entry->value.size(), " entries, more than ", most));
  return std::nullopt;
}

std::string MapReader::Suggest(absl::string_view given, const KeyList& known) const {
  return findings_->full() ? std::string() : Suggestion(given, known);
}

std::vector<std::string> MapReader::Keys() const {
  std::vector<std::string> keys;
  keys.reserve(entries_.size());
  for (const Entry& entry : entries_) keys.push_back(entry.key);
  return keys;
}

}  // namespace penstock
