// One YAML mapping, read strictly: unknown, duplicate and empty keys become findings with their place.
//
// Merge keys (<<) and anchors are resolved; an explicit key wins over a merged one. Values are read by
// config/read/scalar_reader.h. Private to config/ (it exposes yaml-cpp). Cheap to copy: nodes are shared.
#ifndef PENSTOCK_CONFIG_READ_MAP_READER_H_
#define PENSTOCK_CONFIG_READ_MAP_READER_H_

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "config/text/findings.h"

namespace penstock {

// Line and column from one.
Place PlaceOf(const YAML::Mark& mark);

// The keys of a mapping whose names the user chooses.
inline const std::vector<absl::string_view> kAnyKey;

class MapReader {
 public:
  using KeyList = std::vector<absl::string_view>;

  // `known` are the allowed keys; an empty list allows any. A node that is no mapping is a finding and reads as an
  // empty mapping. `findings` must outlive the reader.
  MapReader(Findings& findings, const YAML::Node& node, std::string path, const KeyList& known);

  bool Has(absl::string_view key) const { return Find(key) != nullptr; }
  bool IsMap(absl::string_view key) const;
  bool IsNull(absl::string_view key) const;
  // Adds a finding at the key's value, or at the mapping itself when the key is absent.
  void Fail(absl::string_view key, absl::string_view message) const;
  // Adds a finding at element `index` of a list.
  void FailAt(absl::string_view key, size_t index, absl::string_view message) const;
  // False, with a finding, when the key is absent.
  bool Require(absl::string_view key, absl::string_view why = "is required") const;

  // The text of a plain value; nullopt when the key is absent or empty. Any other value is a finding. `what` names the
  // expected value ("a size").
  std::optional<std::string> Scalar(absl::string_view key, absl::string_view what) const;
  // The texts of a list; nullopt as above, with a finding for the first element that is no text.
  std::optional<std::vector<std::string>> Texts(absl::string_view key) const;
  std::optional<MapReader> ReadMap(absl::string_view key, const KeyList& known) const;
  // A list of mappings; empty when the key is absent. More than `most` are a finding, and only the first ones are read.
  std::vector<MapReader> ReadMaps(absl::string_view key, const KeyList& known, size_t most) const;
  // A mapping whose names the user chooses. More than `most` are a finding, and it reads as absent.
  std::optional<MapReader> ReadNames(absl::string_view key, size_t most) const;
  // The suggestion for a name that is none of `known`. Empty while further faults are only counted.
  std::string Suggest(absl::string_view given, const KeyList& known) const;
  // Keys in the order of the file.
  std::vector<std::string> Keys() const;
  // The path of a key from the root: "replicas[1].url".
  std::string PathOf(absl::string_view key) const;

 private:
  struct Entry {
    std::string key;
    YAML::Mark key_mark;
    YAML::Node value;
  };
  const Entry* Find(absl::string_view key) const;
  void Add(Entry entry);
  void Collect(const YAML::Node& node, bool merged);
  void Merge(const YAML::Node& value);
  void Check(const Entry& entry, const KeyList& known) const;

  Findings* findings_;
  std::string path_;
  YAML::Mark mark_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string, size_t> places_;  // Of entries_ by key, once there are many.
  int merges_left_ = 64;                             // Bounds the work of anchors that contain themselves.
};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_MAP_READER_H_
