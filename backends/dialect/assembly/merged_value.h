// A value that no rule knows, put together from the events of a stream. Pure.
//
// Objects merge by key. Lists grow, and their elements with an `index` merge by it. Texts are strung together, where
// the caller says so. Any other value replaces the one before, and null changes nothing. Names that engines repeat
// (`id`, `type`, `index`, `role`) stay as they came first. Deeper than kMostLevels, the last value counts as a whole.
// Values stay JSON. Invariant: members and merged elements are bounded. A value is read in one pass. Elements whose
// `index` is not their first member cost one more for each level of lists, four at most. One owner, not thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_MERGED_VALUE_H_
#define PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_MERGED_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/json_scanner.h"
#include "base/json_pieces.h"

namespace penstock {

class MergedValue {
 public:
  static constexpr size_t kMostMembers = 64;     // An object has at most so many.
  static constexpr size_t kMostElements = 1024;  // A list has at most so many with an index.
  static constexpr int kMostLevels = 8;

  enum class Texts : uint8_t { kAppend, kReplace };

  // Takes the scanner's next value. Adds the bytes that it stores more to `added`. InvalidArgument: not JSON.
  // Unimplemented: too many members or elements.
  absl::Status Merge(JsonScanner& scanner, Texts texts, size_t* added) { return Take(scanner, texts, added, 0); }
  // The same for one member of this object.
  absl::Status MergeMember(absl::string_view key, JsonScanner& scanner, Texts texts, size_t* added) {
    return TakeMember(key, scanner, texts, added, 0);
  }

  // An object without a member, or no value.
  bool empty() const { return keys_.empty() && (kind_ == Kind::kNone || kind_ == Kind::kObject); }
  bool Has(absl::string_view key) const;
  // Moves the value into the answer; once.
  void Write(JsonPieces* answer);
  // The members of this object, each behind a comma, or behind `before` if it is the first; once.
  void WriteMembers(absl::string_view before, JsonPieces* answer);

 private:
  enum class Kind : uint8_t { kNone, kText, kOther, kList, kObject };

  absl::Status Take(JsonScanner& scanner, Texts texts, size_t* added, int level);
  absl::Status TakeMember(absl::string_view key, JsonScanner& scanner, Texts texts, size_t* added, int level);
  absl::Status TakeText(JsonScanner& scanner, Texts texts, size_t* added);
  absl::Status TakeWhole(JsonScanner& scanner, size_t* added);
  absl::Status TakeList(JsonScanner& scanner, Texts texts, size_t* added, int level);
  // Takes the scanner's next value as the element of this index.
  absl::Status TakeElement(int64_t index, JsonScanner& scanner, Texts texts, size_t* added, int level);
  // A value of another kind is dropped.
  void Become(Kind kind);
  // The place of a member or of an element; the number of values: there is none.
  size_t PlaceOf(absl::string_view key) const;
  size_t PlaceOf(int64_t index) const;
  // The last value is new: it can be found by its name.
  void NotePlace();
  // A number for the name of the value at this place.
  uint64_t NumberAt(size_t place) const;

  Kind kind_ = Kind::kNone;
  std::string text_;                 // The inside of a text, another value, or the elements of a list without an index.
  std::vector<std::string> keys_;    // The names of the members.
  std::vector<int64_t> indexes_;     // The indexes of the elements that merge.
  std::vector<MergedValue> values_;  // The value of each key or index.
  // The place of each number. Null: there are few values. Where two keys have one number, the first one is here.
  std::unique_ptr<absl::flat_hash_map<uint64_t, size_t>> places_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ASSEMBLY_MERGED_VALUE_H_
