#include "router/telemetry/log/patient_write.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace penstock {
namespace {

constexpr int kPauseMs = 20;

// A pipe that poll() calls writable takes so many bytes at once. A socket may have less room: MSG_DONTWAIT makes it
// return.
ssize_t WriteSome(int file, absl::string_view text) {
  const absl::string_view part = text.substr(0, PIPE_BUF);
  const ssize_t sent = send(file, part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent >= 0 || errno != ENOTSOCK ? sent : write(file, part.data(), part.size());
}

}  // namespace

size_t WritePatiently(int file, absl::string_view text, const std::function<bool()>& go_on, int* error) {
  const size_t all = text.size();
  bool asked = false;
  while (!text.empty()) {
    pollfd room{file, POLLOUT, 0};
    const int ready = poll(&room, 1, asked ? kPauseMs : 0);
    if (ready < 0 && errno != EINTR) break;
    const ssize_t written = ready > 0 ? WriteSome(file, text) : 0;
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    const bool waits = ready <= 0 || errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
    if (!waits && error != nullptr) *error = errno;
    if (!waits || !go_on()) break;
    asked = true;
  }
  return all - text.size();
}

}  // namespace penstock
