#include "app/serve/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMiB = 1 << 20;

// The files of a system in a folder that its end removes.
class System {
 public:
  System() { std::filesystem::create_directories(root_); }
  ~System() { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root() const { return root_.string(); }

 private:
  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("memory_limit_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST(MemoryLimit, TheGroupOfTheProcessHolds) {
  System system;
  system.Write("proc/self/cgroup", "0::/system.slice/penstock.service\n");
  system.Write("sys/fs/cgroup/system.slice/memory.max", "max\n");
  system.Write("sys/fs/cgroup/system.slice/penstock.service/memory.max", "67108864\n");
  const ProcessMemory memory = MemoryOfProcess(system.root());
  EXPECT_EQ(memory.bytes, Bytes(64 * kMiB));
  EXPECT_EQ(memory.source, "control group");
}

TEST(MemoryLimit, AGroupAboveMayHoldLess) {
  System system;
  system.Write("proc/self/cgroup", "0::/pods/a\n");
  system.Write("sys/fs/cgroup/pods/memory.max", "33554432\n");
  system.Write("sys/fs/cgroup/pods/a/memory.max", "67108864\n");
  EXPECT_EQ(MemoryOfProcess(system.root()).bytes, Bytes(32 * kMiB));
}

TEST(MemoryLimit, AContainerSeesItsGroupAtTheTop) {
  System system;
  system.Write("proc/self/cgroup", "0::/\n");
  system.Write("sys/fs/cgroup/memory.max", "33554432\n");
  EXPECT_EQ(MemoryOfProcess(system.root()).bytes, Bytes(32 * kMiB));
}

TEST(MemoryLimit, TheFirstVersionOfControlGroupsHoldsToo) {
  System system;
  system.Write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/docker/a\n0::/\n");
  system.Write("sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "33554432\n");
  EXPECT_EQ(MemoryOfProcess(system.root()).bytes, Bytes(32 * kMiB));
}

TEST(MemoryLimit, WithoutGroupsTheMachineHolds) {
  System system;
  const ProcessMemory memory = MemoryOfProcess(system.root());
  EXPECT_EQ(memory.source, "machine");
  EXPECT_GT(memory.bytes, Bytes(64 * kMiB));
}

TEST(MemoryLimit, BudgetsThatFitStayWithoutAWord) {
  LimitsConfig limits;
  EXPECT_THAT(FitToMemory({Bytes(16'384 * kMiB), "machine"}, limits), IsEmpty());
  EXPECT_EQ(limits.max_body_memory, LimitsConfig().max_body_memory);
  EXPECT_EQ(limits.max_answer_memory, LimitsConfig().max_answer_memory);
}

TEST(MemoryLimit, BodiesGetHalfAndAnswersAnEighth) {
  LimitsConfig limits;
  limits.max_answer = Bytes(kMiB);
  EXPECT_THAT(FitToMemory({Bytes(512 * kMiB), "control group"}, limits),
              ElementsAre("limits.max_body_memory is 4GiB, but the memory of this process (control group: 512MiB) "
                          "allows 256MiB: 256MiB holds",
                          "limits.max_answer_memory is 1GiB, but the memory of this process (control group: 512MiB) "
                          "allows 64MiB: 64MiB holds"));
  EXPECT_EQ(limits.max_body_memory, Bytes(256 * kMiB));
  EXPECT_EQ(limits.max_answer_memory, Bytes(64 * kMiB));
}

TEST(MemoryLimit, NoSingleBodyOrAnswerIsLargerThanTheBudgetOfAll) {
  LimitsConfig limits;
  FitToMemory({Bytes(64 * kMiB), "address space (ulimit -v)"}, limits);
  EXPECT_EQ(limits.max_body, Bytes(32 * kMiB));
  EXPECT_EQ(limits.max_answer, Bytes(8 * kMiB));
}

TEST(MemoryLimit, TinyMemoryLeavesAMebibyte) {
  LimitsConfig limits;
  FitToMemory({Bytes(kMiB), "control group"}, limits);
  EXPECT_EQ(limits.max_body_memory, Bytes(kMiB));
  EXPECT_EQ(limits.max_answer_memory, Bytes(kMiB));
}

}  // namespace
}  // namespace penstock
