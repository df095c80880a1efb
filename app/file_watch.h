// Tells when files have changed and come to rest: what it takes to reload a configuration that was saved, renamed into
// place, or whose link was moved (as orchestrators mount them). Looks at the files' identity, size and time instead of
// asking the kernel for events, which miss changes behind links and on network file systems. Not thread-safe; a look
// costs one system call per file.
#ifndef PENSTOCK_APP_FILE_WATCH_H_
#define PENSTOCK_APP_FILE_WATCH_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace penstock {

class FileWatch {
 public:
  explicit FileWatch(std::vector<std::string> paths) { Watch(std::move(paths)); }

  // Watches these from now on, as they are now.
  void Watch(std::vector<std::string> paths);
  // To be called every so often: true once after a change, at the first look that finds the files as the last one did.
  bool Changed();

 private:
  using Mark = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;  // Device, inode, size, time; zeros: not there.
  std::vector<Mark> Look() const;

  std::vector<std::string> paths_;
  std::vector<Mark> settled_;
  std::vector<Mark> last_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_FILE_WATCH_H_
