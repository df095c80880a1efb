// A file that a command writes whole or not at all.
//
// A regular file is written beside its name, under a name of its own, and moved to it by Keep. Behind a link, the
// target is replaced and the link stays. A pipe, a terminal or /dev/null is written in place. Without Keep, and when
// the process is interrupted, nothing is left. One object at a time: the process has one name to remove on a signal.
#ifndef PENSTOCK_APP_SIMULATE_OUTPUT_FILE_H_
#define PENSTOCK_APP_SIMULATE_OUTPUT_FILE_H_

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace penstock {

class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // InvalidArgument: it cannot be written, or it is one of `inputs`.
  absl::Status Open(const std::string& path, const std::vector<std::string>& inputs);
  bool is_open() const { return !path_.empty(); }
  std::ostream& stream() { return stream_; }
  // DataLoss: not everything could be written; nothing is left.
  absl::Status Keep();

 private:
  std::string path_;     // The given name.
  std::string target_;   // The file behind its links.
  std::string partial_;  // Empty: written in place.
  std::ofstream stream_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_OUTPUT_FILE_H_
