#include "backends/node/kvcached/segment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// An open segment under its lock. The lock ends with the descriptor.
class LockedSegment {
 public:
  LockedSegment(const std::string& path, bool write, Bytes memory) : memory_(memory) { Open(path, write); }
  ~LockedSegment() {
    if (fd_ >= 0) close(fd_);
  }
  LockedSegment(const LockedSegment&) = delete;
  LockedSegment& operator=(const LockedSegment&) = delete;

  SegmentRead Read() {
    if (fault_.fault != SegmentFault::kNone) return fault_;
    std::array<char, kSegmentBytes> bytes{};
    if (pread(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      Fail(SegmentFault::kDenied, "it could not be read whole");
      return fault_;
    }
    const auto values = ParseSegment({bytes.data(), bytes.size()}, memory_);
    if (!values) Fail(SegmentFault::kGarbage, "its numbers are impossible");
    if (values) fault_.values = *values;
    return fault_;
  }

  bool Write(Bytes limit) {
    const int64_t value = limit.value();
    return pwrite(fd_, &value, sizeof(value), 0) == static_cast<ssize_t>(sizeof(value));
  }

 private:
  void Open(const std::string& path, bool write) {
    // Without a wait: a pipe would block for ever.
    fd_ = open(path.c_str(), (write ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd_ < 0) return Fail(errno == ENOENT ? SegmentFault::kMissing : SegmentFault::kDenied, std::strerror(errno));
    struct stat facts = {};
    if (fstat(fd_, &facts) != 0) return Fail(SegmentFault::kDenied, std::strerror(errno));
    if (!S_ISREG(facts.st_mode)) return Fail(SegmentFault::kGarbage, "it is no plain file");
    if (facts.st_size != static_cast<off_t>(kSegmentBytes)) {
      return Fail(SegmentFault::kGarbage, absl::StrCat("it has ", facts.st_size, " bytes instead of ", kSegmentBytes));
    }
    if (flock(fd_, (write ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return;
    const bool busy = errno == EWOULDBLOCK;
    Fail(busy ? SegmentFault::kBusy : SegmentFault::kDenied, busy ? "it is locked" : std::strerror(errno));
  }
  void Fail(SegmentFault fault, std::string message) {
    fault_.fault = fault;
    fault_.message = std::move(message);
  }

  const Bytes memory_;
  int fd_ = -1;
  SegmentRead fault_;
};

}  // namespace

std::string SegmentPath(absl::string_view segment) {
  return absl::StartsWith(segment, "/") ? std::string(segment) : absl::StrCat("/dev/shm/", segment);
}

std::optional<SegmentValues> ParseSegment(absl::string_view bytes, Bytes memory) {
  if (bytes.size() != kSegmentBytes) return std::nullopt;
  std::array<int64_t, 3> numbers{};
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  for (const int64_t number : numbers) {
    if (number < 0 || number > kMostSegmentMemory.value()) return std::nullopt;
  }
  if (numbers[0] == 0 || numbers[1] + numbers[2] > memory.value()) return std::nullopt;
  return SegmentValues{Bytes(numbers[0]), Bytes(numbers[1]), Bytes(numbers[2])};
}

SegmentRead ReadSegment(const std::string& path, Bytes memory) { return LockedSegment(path, false, memory).Read(); }

SegmentRead WriteLimit(const std::string& path, Bytes limit, Bytes memory) {
  LockedSegment segment(path, true, memory);
  SegmentRead read = segment.Read();
  if (read.fault != SegmentFault::kNone) return read;
  if (read.values.used + read.values.preallocated > limit && limit < read.values.limit) {
    read.fault = SegmentFault::kHeld;
    read.message = "the engine holds more than the new limit";
  } else if (!segment.Write(limit)) {
    read.fault = SegmentFault::kDenied;
    read.message = "it could not be written";
  } else {
    read.values.limit = limit;
  }
  return read;
}

}  // namespace penstock
