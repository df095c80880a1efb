#include "app/serve/file_watch.h"

#include <sys/stat.h>

#include <utility>

namespace penstock {

void FileWatch::Watch(std::vector<std::string> paths) {
  paths_ = std::move(paths);
  settled_ = last_ = Look();
}

bool FileWatch::Changed() {
  std::vector<Mark> now = Look();
  const bool at_rest = now == last_;
  last_ = std::move(now);
  if (!at_rest || last_ == settled_) return false;
  settled_ = last_;
  return true;
}

std::vector<FileWatch::Mark> FileWatch::Look() const {
  std::vector<Mark> marks;
  for (const std::string& path : paths_) {
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) {
      marks.emplace_back();
      continue;
    }
    const int64_t time = static_cast<int64_t>(found.st_mtim.tv_sec) * 1'000'000'000 + found.st_mtim.tv_nsec;
    marks.emplace_back(found.st_dev, found.st_ino, static_cast<int64_t>(found.st_size), time);
  }
  return marks;
}

}  // namespace penstock
