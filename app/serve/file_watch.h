// Notices that files have changed and come to rest, so that a configuration can be reloaded. The files may be saved,
// renamed into place, or be links that an orchestrator moves. The watch compares identity, size and time; the kernel's
// events miss changes behind links and on network file systems. Not thread-safe; a look costs one system call per file.
#ifndef PENSTOCK_APP_SERVE_FILE_WATCH_H_
#define PENSTOCK_APP_SERVE_FILE_WATCH_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace penstock {

class FileWatch {
 public:
  explicit FileWatch(std::vector<std::string> paths) { Watch(std::move(paths)); }

  // The present state is known: a file that changes afterwards has changed. Called before the files are read, so that
  // a change in between is not lost.
  void Remember() { settled_ = last_ = Look(); }
  // Watches these files: those that were watched from the state that is known, others from their present state on.
  void Watch(std::vector<std::string> paths);
  // Called periodically. True once after a change, at the first look that finds the files as the look before did.
  bool Changed();

 private:
  using Mark = std::tuple<uint64_t, uint64_t, int64_t, int64_t>;  // Device, inode, size, time; zeros: not there.
  std::vector<Mark> Look() const;

  std::vector<std::string> paths_;
  std::vector<Mark> settled_;
  std::vector<Mark> last_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SERVE_FILE_WATCH_H_
