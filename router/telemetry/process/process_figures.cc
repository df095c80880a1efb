#include "router/telemetry/process/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

// Positions behind the name, from zero: the state is the first.
constexpr size_t kUserTicks = 11;
constexpr size_t kSystemTicks = 12;
constexpr size_t kThreads = 17;
constexpr size_t kStartTicks = 19;
constexpr size_t kVirtualBytes = 20;
constexpr size_t kResidentPages = 21;

std::string ReadText(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

double CountDescriptors() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd", error), end; !error && each != end;
       each.increment(error)) {
    ++count;
  }
  // The listing itself has one.
  return count > 0 ? count - 1 : 0;
}

// The wall time at which the system started, by the clocks of the first call.
double StartOfSystem() {
  static const double start = [] {
    timespec since{};
    clock_gettime(CLOCK_BOOTTIME, &since);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count() - static_cast<double>(since.tv_sec) -
           static_cast<double>(since.tv_nsec) * 1e-9;
  }();
  return start;
}

}  // namespace

std::optional<StatFigures> ParseStat(absl::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == absl::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> words = absl::StrSplit(text.substr(name_end + 1), ' ', absl::SkipEmpty());
  if (words.size() <= kResidentPages) return std::nullopt;
  double user = 0;
  double system = 0;
  StatFigures figures;
  const bool good = absl::SimpleAtod(words[kUserTicks], &user) && absl::SimpleAtod(words[kSystemTicks], &system) &&
                    absl::SimpleAtod(words[kThreads], &figures.threads) &&
                    absl::SimpleAtod(words[kStartTicks], &figures.start_ticks) &&
                    absl::SimpleAtod(words[kVirtualBytes], &figures.virtual_bytes) &&
                    absl::SimpleAtod(words[kResidentPages], &figures.resident_pages);
  figures.cpu_ticks = user + system;
  if (!good) return std::nullopt;
  return figures;
}

std::optional<ProcessFigures> ReadProcessFigures() {
  const std::optional<StatFigures> stat = ParseStat(ReadText("/proc/self/stat"));
  if (!stat) return std::nullopt;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessFigures figures;
  figures.cpu_seconds = stat->cpu_ticks / ticks;
  figures.resident_bytes = stat->resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  figures.virtual_bytes = stat->virtual_bytes;
  figures.threads = stat->threads;
  figures.started_at = StartOfSystem() + stat->start_ticks / ticks;
  figures.open_descriptors = CountDescriptors();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.most_descriptors = static_cast<double>(limit.rlim_cur);
  return figures;
}

}  // namespace penstock
