// The shared file of kvcached: its layout, its locks, and files that are none.
#include "backends/node/kvcached/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace penstock {
namespace {

std::string BytesOf(int64_t limit, int64_t used, int64_t preallocated) {
  const std::array<int64_t, 3> numbers = {limit, used, preallocated};
  std::string bytes(sizeof(numbers), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

class KvcachedSegment : public ::testing::Test {
 protected:
  KvcachedSegment() {
    std::filesystem::create_directories(folder_);
    std::filesystem::remove_all(path_);
  }
  ~KvcachedSegment() override { std::filesystem::remove_all(folder_); }

  void Store(const std::string& bytes) { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

  const std::string folder_ = ::testing::TempDir() + "penstock-segment-" + std::to_string(getpid());
  const std::string path_ = folder_ + "/segment";
};

TEST_F(KvcachedSegment, ANameIsAFileOfSharedMemoryAndAPathIsItself) {
  EXPECT_EQ(SegmentPath("kvcached_vLLM_42"), "/dev/shm/kvcached_vLLM_42");
  EXPECT_EQ(SegmentPath("/run/kv/a"), "/run/kv/a");
}

TEST_F(KvcachedSegment, HasLimitUseAndReserveAsThreeNumbers) {
  Store(BytesOf(8'000'000'000, 5, 7));
  const SegmentRead read = ReadSegment(path_);
  EXPECT_EQ(read.fault, SegmentFault::kNone) << read.message;
  EXPECT_EQ(read.values, (SegmentValues{Bytes(8'000'000'000), Bytes(5), Bytes(7)}));
}

TEST_F(KvcachedSegment, WithImpossibleNumbersIsGarbage) {
  const std::string kBad[] = {BytesOf(0, 0, 0),   BytesOf(-1, 0, 0),        BytesOf(10, -1, 0),
                              BytesOf(10, 0, -5), BytesOf(INT64_MAX, 0, 0), BytesOf(10, INT64_MAX, 0)};
  for (const std::string& bytes : kBad) {
    Store(bytes);
    EXPECT_EQ(ReadSegment(path_).fault, SegmentFault::kGarbage);
  }
}

TEST_F(KvcachedSegment, WithMoreThanItsGpuHoldsIsGarbage) {
  const Bytes memory(80'000);
  const std::string kBad[] = {BytesOf(100, int64_t{1} << 50, 0), BytesOf(100, 0, 80'001), BytesOf(100, 50'000, 30'001)};
  for (const std::string& bytes : kBad) {
    Store(bytes);
    EXPECT_EQ(ReadSegment(path_, memory).fault, SegmentFault::kGarbage);
    EXPECT_EQ(WriteLimit(path_, Bytes(200), memory).fault, SegmentFault::kGarbage);
  }
  Store(BytesOf(int64_t{1} << 50, 50'000, 30'000));
  EXPECT_EQ(ReadSegment(path_, memory).fault, SegmentFault::kNone) << "the limit promises nothing";
}

TEST_F(KvcachedSegment, OfAnotherSizeOrKindIsGarbage) {
  for (const size_t size : {0, 8, 23, 25, 4096}) {
    Store(std::string(size, '\1'));
    EXPECT_EQ(ReadSegment(path_).fault, SegmentFault::kGarbage) << size;
  }
  EXPECT_EQ(ReadSegment(folder_).fault, SegmentFault::kGarbage);
  EXPECT_EQ(ReadSegment("/dev/null").fault, SegmentFault::kGarbage);
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadSegment(pipe).fault, SegmentFault::kGarbage) << "nobody writes to the pipe, and nothing waits";
}

TEST_F(KvcachedSegment, ThatIsNotThereIsMissing) {
  EXPECT_EQ(ReadSegment(path_).fault, SegmentFault::kMissing);
  EXPECT_EQ(WriteLimit(path_, Bytes(10)).fault, SegmentFault::kMissing);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "an engine makes its segment, the router never does";
}

TEST_F(KvcachedSegment, UnderALockIsBusyAndNobodyWaitsForIt) {
  Store(BytesOf(100, 1, 2));
  const int holder = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(holder, 0);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  EXPECT_EQ(ReadSegment(path_).fault, SegmentFault::kBusy);
  EXPECT_EQ(WriteLimit(path_, Bytes(50)).fault, SegmentFault::kBusy);
  // Readers share.
  ASSERT_EQ(flock(holder, LOCK_SH), 0);
  EXPECT_EQ(ReadSegment(path_).fault, SegmentFault::kNone);
  EXPECT_EQ(WriteLimit(path_, Bytes(50)).fault, SegmentFault::kBusy);
  close(holder);
  EXPECT_EQ(ReadSegment(path_).values.limit, Bytes(100));
}

TEST_F(KvcachedSegment, TakesALimitAndKeepsTheRest) {
  Store(BytesOf(100, 30, 20));
  EXPECT_EQ(WriteLimit(path_, Bytes(60)).fault, SegmentFault::kNone);
  EXPECT_EQ(ReadSegment(path_).values, (SegmentValues{Bytes(60), Bytes(30), Bytes(20)}));
  EXPECT_EQ(std::filesystem::file_size(path_), kSegmentBytes);
}

TEST_F(KvcachedSegment, TakesNoLimitBelowWhatItsEngineHolds) {
  Store(BytesOf(100, 30, 20));
  EXPECT_EQ(WriteLimit(path_, Bytes(49)).fault, SegmentFault::kHeld);
  EXPECT_EQ(ReadSegment(path_).values.limit, Bytes(100));
  EXPECT_EQ(WriteLimit(path_, Bytes(50)).fault, SegmentFault::kNone);
  // One that somebody set lower already may rise.
  Store(BytesOf(10, 30, 20));
  EXPECT_EQ(WriteLimit(path_, Bytes(40)).fault, SegmentFault::kNone);
}

}  // namespace
}  // namespace penstock
