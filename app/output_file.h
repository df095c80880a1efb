// A file that a command writes whole or not at all.
//
// A regular file is written beside its name, under a name of its own, and moved to it by Keep; what a link points to is
// replaced, not the link. What is no regular file (a pipe, a terminal, /dev/null) is written in place. Without Keep,
// and when the process is interrupted, nothing is left. One at a time: the name to remove on a signal is the process's.
#ifndef PENSTOCK_APP_OUTPUT_FILE_H_
#define PENSTOCK_APP_OUTPUT_FILE_H_

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
  std::string path_;     // As given.
  std::string target_;   // What it points to.
  std::string partial_;  // Empty: written in place.
  std::ofstream stream_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_OUTPUT_FILE_H_
