// Reads one YAML mapping strictly: unknown, duplicate, empty and out-of-range keys become findings with their place.
//
// Every Read* returns true when the key was there and its value was taken; on a bad value it adds a finding and leaves
// the target as it was. Merge keys (<<) and anchors are resolved; explicit keys win over merged ones.
// Private to config/ (it exposes yaml-cpp). Cheap to copy: nodes are shared.
#ifndef PENSTOCK_CONFIG_MAP_READER_H_
#define PENSTOCK_CONFIG_MAP_READER_H_

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/findings.h"
#include "config/keys.h"

namespace penstock {

Place PlaceOf(const YAML::Mark& mark);

// Inclusive bounds.
struct CountRange {
  int64_t lowest;
  int64_t highest;
};
struct NumberRange {
  double lowest;
  double highest;
};
struct SizeRange {
  Bytes lowest;
  Bytes highest;
};
struct TimeRange {
  Duration lowest;
  Duration highest;
};

class MapReader {
 public:
  // A node that is no mapping is a finding and reads as an empty one.
  MapReader(Findings& findings, const YAML::Node& node, std::string path, SectionId section);

  bool Has(absl::string_view key) const { return Find(key) != nullptr; }
  bool IsMap(absl::string_view key) const;
  // Adds a finding at the key's value, at the mapping itself when the key is absent.
  void Fail(absl::string_view key, absl::string_view message) const;
  // The same at element `index` of a list.
  void FailAt(absl::string_view key, size_t index, absl::string_view message) const;
  // Fails when the key is absent.
  bool Require(absl::string_view key, absl::string_view why = "is required") const;

  bool ReadText(absl::string_view key, std::string* out) const;
  bool ReadTexts(absl::string_view key, std::vector<std::string>* out) const;
  bool ReadFlag(absl::string_view key, bool* out) const;
  bool ReadCount(absl::string_view key, CountRange range, int64_t* out) const;
  bool ReadCount(absl::string_view key, CountRange range, int* out) const;
  bool ReadCount(absl::string_view key, CountRange range, Tokens* out) const;
  bool ReadNumber(absl::string_view key, NumberRange range, double* out) const;
  bool ReadSize(absl::string_view key, SizeRange range, Bytes* out) const;
  bool ReadTime(absl::string_view key, TimeRange range, Duration* out) const;
  bool ReadParameters(absl::string_view key, double* out) const;
  bool ReadBandwidth(absl::string_view key, NumberRange range, double* out) const;
  // One of `names`; gives its position.
  std::optional<size_t> ReadChoice(absl::string_view key, const std::vector<absl::string_view>& names) const;

  template <class T, class Range>
  bool ReadCount(absl::string_view key, Range range, std::optional<T>* out) const {
    T value{};
    if (!ReadCount(key, range, &value)) return false;
    *out = value;
    return true;
  }
  bool ReadSize(absl::string_view key, SizeRange range, std::optional<Bytes>* out) const;

  std::optional<MapReader> ReadMap(absl::string_view key, SectionId section) const;
  // A list of mappings.
  std::vector<MapReader> ReadMaps(absl::string_view key, SectionId section) const;
  // Keys in the order of the file.
  std::vector<std::string> Keys() const;

 private:
  struct Entry {
    std::string key;
    YAML::Mark key_mark;
    YAML::Node value;
  };
  const Entry* Find(absl::string_view key) const;
  void Collect(const YAML::Node& node, bool merged);
  void Merge(const YAML::Node& value);
  void Check(const Entry& entry, SectionId section) const;
  std::string Path(absl::string_view key) const;
  std::optional<std::string> Scalar(absl::string_view key, absl::string_view what) const;
  template <class T>
  bool Take(absl::string_view key, const absl::StatusOr<T>& parsed, T lowest, T highest, std::string (*format)(T),
            T* out) const;

  Findings* findings_;
  std::string path_;
  YAML::Mark mark_;
  std::vector<Entry> entries_;
  int merges_left_ = 64;  // Bounds what anchors that contain themselves can do.
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_MAP_READER_H_
