#include "app/serve/written_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The kernel follows no longer chain of links.
constexpr int kMostLinks = 40;

bool IsSame(const fs::path& a, const fs::path& b) {
  struct stat of_a {};
  struct stat of_b {};
  if (stat(a.c_str(), &of_a) != 0 || stat(b.c_str(), &of_b) != 0) return false;
  return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

// The file that a write makes, behind links whose target is not there yet.
fs::path TargetOf(fs::path path) {
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : whole;
}

bool IsInside(const fs::path& file, const fs::path& folder) {
  for (fs::path at = file; at != at.root_path(); at = at.parent_path()) {
    if (at == folder || IsSame(at, folder)) return true;
  }
  return false;
}

// A hard link anywhere may be a file of the folder.
bool HasLinkIn(const fs::path& file, const fs::path& folder) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink < 2) return false;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (IsSame(at->path(), file)) return true;
  }
  return false;
}

}  // namespace

std::string HarmOfLog(const std::string& log_path, const Config& config) {
  if (log_path.empty()) return "";
  for (const std::string& source : config.sources) {
    if (!IsSame(log_path, source)) continue;
    return absl::StrCat("log.path: ", log_path, " is the file ", source,
                        " that the configuration is read from: lines of the log would destroy it");
  }
  if (config.state.path.empty()) return "";
  const fs::path folder = TargetOf(config.state.path);
  if (!IsInside(TargetOf(log_path), folder) && !HasLinkIn(log_path, folder)) return "";
  return absl::StrCat("log.path: ", log_path, " is in the folder of state.path, ", config.state.path,
                      ": lines of the log would destroy its files");
}

}  // namespace penstock
