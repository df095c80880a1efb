#include "app/simulate/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::array<int, 3> kEndings = {SIGINT, SIGTERM, SIGHUP};

// Signals that end the process wait while it lives: a file that exists is always one that a handler removes.
class EndingsWait {
 public:
  EndingsWait() {
    sigset_t endings;
    sigemptyset(&endings);
    for (const int signal : kEndings) sigaddset(&endings, signal);
    ::pthread_sigmask(SIG_BLOCK, &endings, &before_);
  }
  ~EndingsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndingsWait(const EndingsWait&) = delete;
  EndingsWait& operator=(const EndingsWait&) = delete;

 private:
  sigset_t before_;
};

// Read by the handler; changed only while the signals above have their default action or wait.
char g_partial[4096];

extern "C" void RemovePartial(int signal) {
  ::unlink(g_partial);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void RemoveOnSignals(const std::string& partial) {
  for (const int signal : kEndings) std::signal(signal, SIG_DFL);
  if (partial.empty() || partial.size() >= sizeof(g_partial)) return;
  std::memcpy(g_partial, partial.c_str(), partial.size() + 1);
  for (const int signal : kEndings) std::signal(signal, &RemovePartial);
}

mode_t ModeOf(const std::string& target) {
  struct stat existing;
  if (::stat(target.c_str(), &existing) == 0) return existing.st_mode & 0777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// The file behind a chain of links; it may not exist.
fs::path BehindLinks(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

absl::Status CannotWrite(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be written: ", why));
}

}  // namespace

OutputFile::~OutputFile() {
  if (partial_.empty()) return;
  stream_.close();
  ::unlink(partial_.c_str());
  RemoveOnSignals("");
}

absl::Status OutputFile::Open(const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  for (const std::string& input : inputs) {
    if (fs::equivalent(path, input, ignored)) return CannotWrite(path, absl::StrCat("it is the input ", input));
  }
  const fs::file_status status = fs::status(path, ignored);
  const bool in_place = fs::exists(status) && !fs::is_regular_file(status);
  if (fs::is_directory(status)) return CannotWrite(path, "it is a directory");
  target_ = in_place ? path : BehindLinks(path).string();
  if (!in_place) {
    if (fs::exists(status) && ::access(target_.c_str(), W_OK) != 0) return CannotWrite(path, std::strerror(errno));
    std::string unique = target_ + ".XXXXXX";
    const EndingsWait wait;
    const int file = ::mkstemp(unique.data());
    if (file < 0) return CannotWrite(path, std::strerror(errno));
    ::fchmod(file, ModeOf(target_));
    ::close(file);
    partial_ = unique;
    RemoveOnSignals(partial_);
  }
  stream_.open(in_place ? target_ : partial_, std::ios::out);
  if (!stream_) return CannotWrite(path, std::strerror(errno));
  path_ = path;
  return absl::OkStatus();
}

absl::Status OutputFile::Keep() {
  stream_.close();
  bool kept = !stream_.fail();
  if (!partial_.empty()) {
    kept = kept && std::rename(partial_.c_str(), target_.c_str()) == 0;
    if (!kept) ::unlink(partial_.c_str());
    partial_.clear();
    RemoveOnSignals("");
  }
  return kept ? absl::OkStatus() : absl::DataLossError(absl::StrCat(path_, ": not written"));
}

}  // namespace penstock
