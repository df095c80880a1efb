#include "router/http/socket/socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
constexpr mode_t kOwnerAndGroup = kOwnerOnly | S_IRGRP | S_IWGRP;

absl::Status Busy(const std::string& path, const std::string& why) {
  return absl::UnavailableError(absl::StrCat("cannot listen on unix:", path, ": ", why));
}

std::string ErrorText() { return std::strerror(errno); }

// Only a refused connection proves that the listener is gone.
bool ListenerIsDead(const std::string& path) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int connected = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool refused = connected != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return refused;
}

}  // namespace

absl::Status SocketFile::MakeWay(const std::string& path, int socket) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return Busy(path, "the file is no socket");
    if (!ListenerIsDead(path)) return Busy(path, "another process listens there");
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return Busy(path, ErrorText());
  } else if (errno != ENOENT) {
    return Busy(path, ErrorText());
  }
  // The bind gives the mode of the socket to the file, so nobody else can connect before Take().
  if (::fchmod(socket, kOwnerOnly) != 0) return Busy(path, ErrorText());
  return absl::OkStatus();
}

absl::Status SocketFile::Take(const std::string& path) {
  struct stat made {};
  if (::chmod(path.c_str(), kOwnerAndGroup) != 0 || ::lstat(path.c_str(), &made) != 0) return Busy(path, ErrorText());
  path_ = path;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  return absl::OkStatus();
}

void SocketFile::Remove() {
  const std::string path = std::exchange(path_, std::string());
  struct stat found {};
  if (path.empty() || ::lstat(path.c_str(), &found) != 0) return;
  // A newer file may have the number of the old one.
  const bool same = found.st_dev == device_ && found.st_ino == inode_;
  if (same && ListenerIsDead(path)) ::unlink(path.c_str());
}

}  // namespace penstock
