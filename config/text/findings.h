// The faults of a configuration file: collected while reading on, reported together. Of more than kMost, the first ones
// are reported and the others are counted.
#ifndef PENSTOCK_CONFIG_TEXT_FINDINGS_H_
#define PENSTOCK_CONFIG_TEXT_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// A place in a file, from one; zero: the file as a whole.
struct Place {
  int line = 0;
  int column = 0;
};

class Findings {
 public:
  static constexpr size_t kMost = 200;

  explicit Findings(std::string file) : file_(std::move(file)) {}

  // `key` is the path of the offending key ("replicas[1].url"); empty for the file as a whole.
  void Add(Place place, absl::string_view key, absl::string_view message);
  bool empty() const { return findings_.empty(); }
  // True: further faults are only counted, so their texts need not be made.
  bool full() const { return findings_.size() == kMost; }
  const std::string& file() const { return file_; }
  // OK, or InvalidArgument with one line per finding in the order of the file, and one for those that are only counted.
  absl::Status Report() const;

 private:
  struct Finding {
    Place place;
    std::string text;
  };
  std::string file_;
  std::vector<Finding> findings_;
  int64_t more_ = 0;
};

// " (did you mean "x"?)" for the candidates that begin with `given`, up to three, else for the one nearest by edits.
// Nothing when none is near.
std::string Suggestion(absl::string_view given, const std::vector<absl::string_view>& candidates);

// The names in one line. Of more than kMostNames, the others are counted.
inline constexpr size_t kMostNames = 100;
std::string KnownNames(const std::vector<absl::string_view>& names);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_TEXT_FINDINGS_H_
