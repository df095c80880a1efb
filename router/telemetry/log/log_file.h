// The file that the lines of the log go to, or stderr. It is opened anew after a rotation. One thread uses it.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_LOG_FILE_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_LOG_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"

namespace penstock {

class LogFile {
 public:
  // Closed. An empty path: stderr, which is never closed or opened anew.
  explicit LogFile(std::string path) : path_(std::move(path)) {}
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Opens the path, anew if it is open. PermissionDenied or NotFound: the message names it, and the old file stays.
  absl::Status Open();
  int descriptor() const { return descriptor_; }
  bool OnTerminal() const;
  // A regular file that was removed: what is written to it is lost. One system call.
  bool IsGone() const;
  // The last line has no end. Another file than before has no such line.
  bool torn() const { return torn_; }
  void SetTorn(bool torn) { torn_ = torn; }

 private:
  const std::string path_;
  int descriptor_ = -1;
  bool torn_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_LOG_FILE_H_
