// The file of a unix socket that listens: made way for, opened for the group, and removed at the end.
//
// The owner removes only the file that it made, so a newer router at the same path keeps its own. Not thread-safe.
#ifndef PENSTOCK_ROUTER_HTTP_SOCKET_SOCKET_FILE_H_
#define PENSTOCK_ROUTER_HTTP_SOCKET_SOCKET_FILE_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace penstock {

class SocketFile {
 public:
  SocketFile() = default;
  ~SocketFile() { Remove(); }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  // Before a bind of `socket` to `path`: removes the socket of a dead listener, and closes the new one to others.
  // Unavailable: somebody listens at `path`, or it is no socket.
  static absl::Status MakeWay(const std::string& path, int socket);
  // After the bind: user and group may connect, whatever the umask.
  absl::Status Take(const std::string& path);
  // After the listening socket was closed. May be called twice.
  void Remove();

 private:
  std::string path_;  // Empty: nothing to remove.
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_SOCKET_SOCKET_FILE_H_
