// The shared file in which kvcached keeps the limit and the use of one engine's KV cache.
//
// Layout: three 64-bit integers in the byte order of the machine: limit, use, and memory that is reserved but unused.
// Readers take a shared lock on the file, writers an exclusive one (flock). Here no call waits for a lock, and each
// reads 24 bytes at most. A file of another kind or size is no segment. The path has to be on a local file system.
// Stateless and thread-safe.
#ifndef PENSTOCK_BACKENDS_NODE_KVCACHED_SEGMENT_H_
#define PENSTOCK_BACKENDS_NODE_KVCACHED_SEGMENT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

inline constexpr size_t kSegmentBytes = 24;

struct SegmentValues {
  Bytes limit{0};
  Bytes used{0};
  Bytes preallocated{0};
  bool operator==(const SegmentValues&) const = default;
};

enum class SegmentFault : uint8_t {
  kNone,
  kMissing,  // There is no such file.
  kDenied,   // It may not be opened, or the system failed.
  kBusy,     // Another process holds its lock.
  kGarbage,  // It is no segment: another kind or size of file, or impossible numbers.
  kHeld,     // Nothing was written: the engine holds more than the new limit.
};

struct SegmentRead {
  SegmentFault fault = SegmentFault::kNone;
  SegmentValues values;
  std::string message;  // Describes a fault.
};

// The file of a configured segment: a path from the root, or a name in /dev/shm.
std::string SegmentPath(absl::string_view segment);

// No engine has so much memory; larger numbers are garbage.
inline constexpr Bytes kMostSegmentMemory{int64_t{1} << 50};

// The values in the bytes of a file; nullopt: it is no segment. `memory` is that of the engine's GPUs together: it
// cannot hold more. Its limit may be larger, because nothing has to be there yet.
std::optional<SegmentValues> ParseSegment(absl::string_view bytes, Bytes memory = kMostSegmentMemory);

SegmentRead ReadSegment(const std::string& path, Bytes memory = kMostSegmentMemory);
// Writes the limit and leaves the rest; returns the values as they are then.
SegmentRead WriteLimit(const std::string& path, Bytes limit, Bytes memory = kMostSegmentMemory);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NODE_KVCACHED_SEGMENT_H_
