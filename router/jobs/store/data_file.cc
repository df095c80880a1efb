#include "router/jobs/store/data_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::jobs {
namespace {

constexpr mode_t kFileRights = 0600;
constexpr mode_t kFolderRights = 0700;

// A FIFO, a device or a link in the place of a file keeps nobody waiting.
constexpr int kNeverWait = O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;

int FlagsOf(DataFile::Mode mode) {
  switch (mode) {
    case DataFile::Mode::kRead:
      return O_RDONLY | kNeverWait;
    case DataFile::Mode::kWrite:
      return O_RDWR | kNeverWait;
    case DataFile::Mode::kMake:
      return O_RDWR | O_CREAT | kNeverWait;
  }
  return O_RDONLY | kNeverWait;
}

}  // namespace

JobErrorKind KindOfErrno(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return JobErrorKind::kDiskFull;
    case EROFS:
    case EACCES:
    case EPERM:
      return JobErrorKind::kReadOnly;
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENXIO:
    case EISDIR:
      return JobErrorKind::kGone;
    default:
      return JobErrorKind::kIo;
  }
}

JobError SystemError(absl::string_view path) {
  const int number = errno;
  return {KindOfErrno(number), absl::StrCat(path, ": ", std::strerror(number))};
}

namespace {

// A folder that is away, as when a disk is not mounted, may come back with all of its files.
bool FolderIsAway(absl::string_view path) {
  const std::string folder(path.substr(0, path.rfind('/')));
  return !folder.empty() && access(folder.c_str(), F_OK) != 0;
}

}  // namespace

JobResult<DataFile> DataFile::Open(const std::string& path, Mode mode) {
  const int descriptor = ::open(path.c_str(), FlagsOf(mode), kFileRights);
  if (descriptor < 0) {
    JobError error = SystemError(path);
    const bool existed = (FlagsOf(mode) & O_CREAT) == 0;
    if (existed && error.kind == JobErrorKind::kGone && FolderIsAway(path)) error.kind = JobErrorKind::kIo;
    return error;
  }
  DataFile file(path, descriptor);
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) return SystemError(path);
  if (!S_ISREG(facts.st_mode)) return JobError{JobErrorKind::kGone, absl::StrCat(path, ": it is no regular file")};
  return file;
}

DataFile::~DataFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

JobResult<int64_t> DataFile::Size() const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) return SystemError(path_);
  return static_cast<int64_t>(facts.st_size);
}

JobDone DataFile::WriteAt(int64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return SystemError(path_);
    bytes.remove_prefix(static_cast<size_t>(count));
    offset += count;
  }
  return Done();
}

JobDone DataFile::Sync() {
  if (::fdatasync(descriptor_) != 0) return SystemError(path_);
  return Done();
}

JobDone DataFile::Truncate(int64_t size) {
  if (::ftruncate(descriptor_, size) != 0) return SystemError(path_);
  return Done();
}

JobDone DataFile::Allocate(int64_t offset, int64_t length) {
  errno = ::posix_fallocate(descriptor_, offset, length);
  if (errno != 0) return SystemError(path_);
  return Done();
}

JobResult<std::string> DataFile::ReadAt(int64_t offset, int64_t length) const {
  std::string bytes(static_cast<size_t>(std::max<int64_t>(0, length)), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count =
        ::pread(descriptor_, bytes.data() + have, bytes.size() - have, offset + static_cast<int64_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path_);
    if (count == 0) break;
    have += static_cast<size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

JobResult<std::string> DataFile::ReadWhole(int64_t offset, int64_t length) const {
  JobResult<std::string> bytes = ReadAt(offset, length);
  if (!bytes.ok() || static_cast<int64_t>(bytes->size()) == length) return bytes;
  return JobError{JobErrorKind::kGone, absl::StrCat(path_, ": the file is shorter than it was stored")};
}

JobDone DataFile::Lock() {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return Done();
  if (errno != EWOULDBLOCK) return SystemError(path_);
  return JobError{JobErrorKind::kLocked, absl::StrCat(path_, ": another router has this folder")};
}

JobDone SyncFolder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(folder);
  const bool synced = ::fsync(descriptor) == 0;
  JobError error = SystemError(folder);
  ::close(descriptor);
  if (!synced) return error;
  return Done();
}

JobDone MakeFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), kFolderRights) == 0) return Done();
  struct stat facts {};
  if (errno == EEXIST && ::stat(folder.c_str(), &facts) == 0) {
    if (S_ISDIR(facts.st_mode)) return Done();
    errno = ENOTDIR;
  }
  return SystemError(folder);
}

JobDone Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return SystemError(from);
  return Done();
}

JobDone Remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError(path);
  return Done();
}

}  // namespace penstock::jobs
