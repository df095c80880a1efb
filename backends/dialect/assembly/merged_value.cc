#include "backends/dialect/assembly/merged_value.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/json_string.h"

namespace penstock {
namespace {

constexpr size_t kPerValue = 192;  // Bytes of a value's books, roughly.

absl::Status NoJson() { return absl::InvalidArgumentError("event is not a JSON object"); }

bool IsName(absl::string_view key) { return key == "id" || key == "type" || key == "index" || key == "role"; }

// So many names are compared one by one.
constexpr size_t kFew = 8;

// The index of an element that is its first member; none: it must be looked for. Most engines write it there.
std::optional<int64_t> FirstIndex(JsonScanner scanner) {
  std::optional<int64_t> index;
  (void)scanner.ForEachMember([&](absl::string_view key) {
    constexpr int64_t kNone = INT64_MIN;
    int64_t number = kNone;
    if (key == "index" && scanner.CopyInt(&number) && number != kNone) index = number;
    return false;
  });
  return index;
}

// Takes an element that is an object, and finds its index; none: it has none. False: not JSON.
bool TakeObject(JsonScanner& scanner, absl::string_view* raw, std::optional<int64_t>* index) {
  constexpr int64_t kNone = INT64_MIN;
  int64_t number = kNone;
  const bool object = scanner.TakeRawObject(
      raw, [&](absl::string_view key) { return key == "index" ? scanner.CopyInt(&number) : scanner.Skip(); });
  if (number != kNone) *index = number;
  return object;
}

template <class Key, class Of>
size_t Search(const Of& key, const std::vector<Key>& keys) {
  return static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
}

}  // namespace

uint64_t MergedValue::NumberAt(size_t place) const {
  return kind_ == Kind::kList ? static_cast<uint64_t>(indexes_[place]) : absl::HashOf(absl::string_view(keys_[place]));
}

void MergedValue::NotePlace() {
  size_t place = values_.size() - 1;
  if (!places_) {
    if (place < kFew) return;
    places_ = std::make_unique<absl::flat_hash_map<uint64_t, size_t>>();
    place = 0;
  }
  for (; place < values_.size(); ++place) places_->try_emplace(NumberAt(place), place);
}

size_t MergedValue::PlaceOf(absl::string_view key) const {
  if (!places_) return Search(key, keys_);
  const auto found = places_->find(absl::HashOf(key));
  if (found == places_->end()) return keys_.size();
  return keys_[found->second] == key ? found->second : Search(key, keys_);
}

size_t MergedValue::PlaceOf(int64_t index) const {
  if (!places_) return Search(index, indexes_);
  const auto found = places_->find(static_cast<uint64_t>(index));
  return found == places_->end() ? indexes_.size() : found->second;
}

bool MergedValue::Has(absl::string_view key) const { return !keys_.empty() && PlaceOf(key) < keys_.size(); }

void MergedValue::Become(Kind kind) {
  if (kind_ == kind) return;
  *this = MergedValue();
  kind_ = kind;
}

absl::Status MergedValue::Take(JsonScanner& scanner, Texts texts, size_t* added, int level) {
  const char first = scanner.Peek();
  if (first == 'n') return scanner.Skip() ? absl::OkStatus() : NoJson();
  if (first == '"') return TakeText(scanner, texts, added);
  if (first == '[') return TakeList(scanner, texts, added, level);
  if (first != '{' || level >= kMostLevels) return TakeWhole(scanner, added);
  Become(Kind::kObject);
  absl::Status status;
  const bool json = scanner.ForEachMember([&](absl::string_view key) {
    status = TakeMember(key, scanner, texts, added, level + 1);
    return status.ok();
  });
  if (!status.ok()) return status;
  return json ? absl::OkStatus() : NoJson();
}

absl::Status MergedValue::TakeMember(absl::string_view key, JsonScanner& scanner, Texts texts, size_t* added,
                                     int level) {
  Become(Kind::kObject);
  const size_t place = PlaceOf(key);
  if (place == keys_.size()) {
    if (place >= kMostMembers) return absl::UnimplementedError("too many fields of an object");
    keys_.emplace_back(key);
    values_.emplace_back();
    NotePlace();
    *added += kPerValue + key.size();
  }
  MergedValue& value = values_[place];
  const bool settled = value.kind_ != Kind::kNone && !(value.kind_ == Kind::kText && value.text_.empty());
  if (settled && IsName(key)) return scanner.Skip() ? absl::OkStatus() : NoJson();
  return value.Take(scanner, texts, added, level);
}

absl::Status MergedValue::TakeText(JsonScanner& scanner, Texts texts, size_t* added) {
  absl::string_view inside;
  if (!scanner.TakeString(&inside) || !EscapesAreWhole(inside)) return NoJson();
  Become(Kind::kText);
  const size_t before = text_.size();
  if (texts == Texts::kReplace) text_.clear();
  text_.append(inside.data(), inside.size());
  *added += text_.size() - std::min(text_.size(), before);
  return absl::OkStatus();
}

absl::Status MergedValue::TakeWhole(JsonScanner& scanner, size_t* added) {
  absl::string_view raw;
  if (!scanner.TakeRaw(&raw)) return NoJson();
  Become(Kind::kOther);
  *added += raw.size() - std::min(raw.size(), text_.size());
  text_.assign(raw.data(), raw.size());
  return absl::OkStatus();
}

absl::Status MergedValue::TakeList(JsonScanner& scanner, Texts texts, size_t* added, int level) {
  Become(Kind::kList);
  absl::Status status;
  const bool json = scanner.ForEachElement([&] {
    const bool merges = scanner.Peek() == '{' && level < kMostLevels;
    std::optional<int64_t> index = merges ? FirstIndex(scanner) : std::nullopt;
    if (index) {
      status = TakeElement(*index, scanner, texts, added, level + 1);
      return status.ok();
    }
    absl::string_view raw;
    if (!(merges ? TakeObject(scanner, &raw, &index) : scanner.TakeRaw(&raw))) return false;
    if (index) {
      JsonScanner again(raw);
      status = TakeElement(*index, again, texts, added, level + 1);
      return status.ok();
    }
    absl::StrAppend(&text_, text_.empty() ? "" : ",", raw);
    *added += raw.size() + 1;
    return true;
  });
  if (!status.ok()) return status;
  return json ? absl::OkStatus() : NoJson();
}

absl::Status MergedValue::TakeElement(int64_t index, JsonScanner& scanner, Texts texts, size_t* added, int level) {
  const size_t place = PlaceOf(index);
  if (place == indexes_.size()) {
    if (place >= kMostElements) return absl::UnimplementedError("too many elements of a list");
    indexes_.push_back(index);
    values_.emplace_back();
    NotePlace();
    *added += kPerValue;
  }
  return values_[place].Take(scanner, texts, added, level);
}

void MergedValue::WriteMembers(absl::string_view before, JsonPieces* answer) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    answer->Add(absl::StrCat(std::exchange(before, ","), "\"", keys_[i], "\":"));
    values_[i].Write(answer);
  }
}

void MergedValue::Write(JsonPieces* answer) {
  if (kind_ == Kind::kNone) return answer->Add("null");
  if (kind_ == Kind::kOther) return answer->Add(std::move(text_));
  if (kind_ == Kind::kObject) {
    answer->Add("{");
    WriteMembers("", answer);
    return answer->Add("}");
  }
  answer->Add(kind_ == Kind::kText ? "\"" : "[");
  const bool plain = !text_.empty();
  answer->Add(std::move(text_));
  std::vector<size_t> order(indexes_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [this](size_t a, size_t b) { return indexes_[a] < indexes_[b]; });
  absl::string_view comma = plain ? "," : "";
  for (const size_t place : order) {
    answer->Add(std::string(std::exchange(comma, ",")));
    values_[place].Write(answer);
  }
  answer->Add(kind_ == Kind::kText ? "\"" : "]");
}

}  // namespace penstock
