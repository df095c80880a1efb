#include "app/serve/memory_limit.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/text/units_text.h"

namespace penstock {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kBodyPart = 2;
constexpr int64_t kAnswerPart = 8;
// The stacks of the threads that start later, and the regions that the allocator reserves for them.
constexpr int64_t kThreadSpace = 64 * kMiB;
constexpr int64_t kLeastPart = 8;
// A buffer of this size has its own mapping, and leaves with it. By itself the allocator raises this bound to 32 MiB.
// A mapping costs a page fault per 4 KiB: with 1 MiB, a prompt of that size took 1.8 times the CPU.
constexpr int kOwnMapping = 4 * kMiB;
// A pool keeps so many free bytes at its end.
constexpr int kKeptByPool = 2 * kOwnMapping;
// The allocator has so many pools beside one for each loop.
constexpr int kOtherPools = 2;

// The number at the start of a file; none where it is "max" or missing.
std::optional<int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  int64_t number = 0;
  // The first version writes "no limit" as a number near the largest.
  if (!(file >> word) || !absl::SimpleAtoi(word, &number)) return std::nullopt;
  return number;
}

int64_t PhysicalMemory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

void TakeLess(std::optional<int64_t> bytes, const char* source, ProcessMemory& least) {
  if (bytes.has_value() && *bytes < least.bytes.value()) least = {Bytes(*bytes), source};
}

// A container sees its own group at the top of the tree, so every folder above the group is asked too.
void TakeGroupLimits(const std::string& folder, absl::string_view group, const char* file, ProcessMemory& least) {
  while (true) {
    TakeLess(NumberIn(absl::StrCat(folder, group, "/", file)), "control group", least);
    if (group.empty()) return;
    group = group.substr(0, group.rfind('/'));
  }
}

void TakeControlGroups(const std::string& root, ProcessMemory& least) {
  const std::string tree = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    const absl::string_view group = parts[2] == "/" ? absl::string_view() : parts[2];
    if (parts[1].empty()) TakeGroupLimits(tree, group, "memory.max", least);
    if (parts[1] == "memory") TakeGroupLimits(tree + "/memory", group, "memory.limit_in_bytes", least);
  }
}

void TakeAddressSpace(const std::string& root, ProcessMemory& least) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto whole = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
  const int64_t used = NumberIn(root + "/proc/self/statm").value_or(0) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  TakeLess(std::max(whole - used - kThreadSpace, whole / kLeastPart), "address space (ulimit -v)", least);
}

void Lower(absl::string_view key, const ProcessMemory& memory, Bytes most, Bytes& limit,
           std::vector<std::string>& notices) {
  if (limit.value() <= most.value()) return;
  notices.push_back(absl::StrCat("limits.", key, " is ", FormatSize(limit), ", but the memory of this process (",
                                 memory.source, ": ", FormatSize(memory.bytes), ") allows ", FormatSize(most), ": ",
                                 FormatSize(most), " holds"));
  limit = most;
}

// Whole mebibytes, at least one.
Bytes Part(const ProcessMemory& memory, int64_t part) {
  return Bytes(std::max<int64_t>(1, memory.bytes.value() / part / kMiB) * kMiB);
}

}  // namespace

ProcessMemory MemoryOfProcess(const std::string& root) {
  ProcessMemory least{Bytes(PhysicalMemory()), "machine"};
  TakeControlGroups(root, least);
  TakeAddressSpace(root, least);
  least.bytes = Part(least, 1);
  return least;
}

std::vector<std::string> FitToMemory(const ProcessMemory& memory, LimitsConfig& limits) {
  std::vector<std::string> notices;
  const Bytes bodies = Part(memory, kBodyPart);
  const Bytes answers = Part(memory, kAnswerPart);
  Lower("max_body_memory", memory, bodies, limits.max_body_memory, notices);
  Lower("max_body", memory, bodies, limits.max_body, notices);
  Lower("max_answer_memory", memory, answers, limits.max_answer_memory, notices);
  Lower("max_answer", memory, answers, limits.max_answer, notices);
  return notices;
}

void GiveMemoryBack(int threads) {
  const int loops = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  mallopt(M_MMAP_THRESHOLD, kOwnMapping);
  mallopt(M_TRIM_THRESHOLD, kKeptByPool);
  mallopt(M_ARENA_MAX, loops + kOtherPools);
}

}  // namespace penstock
