#include "app/serve/file_watch.h"

#include <sys/stat.h>

#include <map>
#include <utility>

namespace penstock {

void FileWatch::Watch(std::vector<std::string> paths) {
  std::map<std::string, Mark> known;
  for (size_t i = 0; i < paths_.size(); ++i) known[paths_[i]] = settled_[i];
  paths_ = std::move(paths);
  Remember();
  for (size_t i = 0; i < paths_.size(); ++i) {
    if (const auto found = known.find(paths_[i]); found != known.end()) settled_[i] = found->second;
  }
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
