#include "router/telemetry/log/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Both are one file, and its last line is the same.
bool EndsAlike(int old, int fresh) {
  struct stat before {};
  struct stat after {};
  if (fstat(old, &before) != 0 || fstat(fresh, &after) != 0) return false;
  const bool emptied = S_ISREG(after.st_mode) && after.st_size == 0;
  return before.st_dev == after.st_dev && before.st_ino == after.st_ino && !emptied;
}

}  // namespace

LogFile::~LogFile() {
  if (descriptor_ > STDERR_FILENO) close(descriptor_);
}

absl::Status LogFile::Open() {
  if (path_.empty()) {
    descriptor_ = STDERR_FILENO;
    return absl::OkStatus();
  }
  const int fresh = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
  if (fresh < 0) return absl::ErrnoToStatus(errno, absl::StrCat("decision log ", path_));
  torn_ = torn_ && EndsAlike(descriptor_, fresh);
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = fresh;
  return absl::OkStatus();
}

bool LogFile::OnTerminal() const { return isatty(descriptor_) != 0; }

bool LogFile::IsGone() const {
  struct stat now {};
  return !path_.empty() && fstat(descriptor_, &now) == 0 && S_ISREG(now.st_mode) && now.st_nlink == 0;
}

}  // namespace penstock
