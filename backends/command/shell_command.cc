#include "backends/command/shell_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kLastWords = std::chrono::seconds(2);
// The pause after each read of 64 KiB at most. A command that writes more waits for the pipe meanwhile.
constexpr auto kReadPause = std::chrono::milliseconds(100);
constexpr int kFirstOtherDescriptor = 3;

void EndAtOnce(pid_t pid) {
  kill(-pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

absl::Status Failed(absl::string_view what, int error) {
  const std::string message = absl::StrCat("cannot start a command: ", what, ": ", std::strerror(error));
  const bool shortage = error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
  return shortage ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
}

// The router's variables, with `additions` in the place of those of the same name.
std::vector<std::string> Environment(const std::vector<std::string>& additions) {
  std::vector<std::string> all = additions;
  for (char** own = environ; *own != nullptr; ++own) {
    const absl::string_view entry(*own);
    const absl::string_view name = entry.substr(0, entry.find('='));
    const bool replaced = std::any_of(additions.begin(), additions.end(), [name](const std::string& added) {
      return absl::string_view(added).substr(0, added.find('=')) == name;
    });
    if (!replaced) all.emplace_back(entry);
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The error of posix_spawn. The process writes to `output`.
int Spawn(const std::string& text, const std::vector<std::string>& additions, int output, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  // The sockets of clients and engines must not live on in the process.
  posix_spawn_file_actions_addclosefrom_np(&files, kFirstOtherDescriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> arguments = {"/bin/sh", "-c", text};
  std::vector<std::string> variables = Environment(additions);
  const int error =
      posix_spawn(pid, "/bin/sh", &files, &attributes, Pointers(arguments).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

std::string CommandEnd::Text() const {
  return signal != 0 ? absl::StrCat("signal ", signal) : absl::StrCat("status ", status);
}

// Lives until the process ended and its output was read, or the loop is destroyed.
struct ShellCommand::State : std::enable_shared_from_this<State> {
  State(asio::io_context& loop, pid_t the_pid, std::function<void()> tell)
      : pid(the_pid), process(loop), output(loop), last_words(loop), pause(loop), on_end(std::move(tell)) {}

  // Takes both descriptors. An error: the system can watch no more; they are closed, or close with this object.
  error_code Watch(int pid_descriptor, int output_descriptor) {
    error_code error;
    process.assign(pid_descriptor, error);
    if (error) close(pid_descriptor);
    error_code other;
    output.assign(output_descriptor, other);
    if (other) close(output_descriptor);
    if (!error && !other) output.non_blocking(true, error);
    return error ? error : other;
  }

  void AwaitEnd() {
    process.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
      if (!error) self->TakeEnd();
    });
  }
  void TakeEnd() {
    siginfo_t info{};
    // Where the router was started without a wait for children, the status is lost. It then counts as good.
    const bool known = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (known && info.si_pid == 0) return AwaitEnd();
    const bool exited = !known || info.si_code == CLD_EXITED;
    end = CommandEnd{exited ? info.si_status : 0, exited ? 0 : info.si_status};
    if (!ending_group) Reap();
    // A process in the background may hold the output open for ever. This descriptor must not stay with it.
    error_code ignored;
    process.close(ignored);
    ReadAtHand();
    if (on_end) on_end();
  }
  // From then on another process may have its number, and another group the number of its group.
  void Reap() { waitpid(pid, nullptr, WNOHANG); }
  // The group may outlive its leader, whose number stays taken meanwhile.
  void EndGroup() {
    ending_group = true;
    kill(-pid, SIGTERM);
    last_words.expires_after(kLastWords);
    last_words.async_wait([self = shared_from_this()](const error_code& error) {
      if (error) return;
      kill(-self->pid, SIGKILL);
      self->ending_group = false;
      if (!self->end) return;
      self->Reap();
      if (self->on_end) self->on_end();
    });
  }
  void ReadOn() {
    pause.expires_after(kReadPause);
    pause.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->AwaitOutput();
    });
  }
  void AwaitOutput() {
    output.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
      if (!error && self->ReadAtHand()) self->ReadOn();
    });
  }
  // False: its output has ended.
  bool ReadAtHand() {
    std::array<char, 4096> buffer;
    // A turn is bounded: a command that writes without a pause must not hold the loop.
    for (int i = 0; i < 16; ++i) {
      error_code error;
      const size_t size = output.is_open() ? output.read_some(asio::buffer(buffer), error) : 0;
      if (error == asio::error::would_block) return true;
      if (error || size == 0) return false;
      kept.append(buffer.data(), size);
      if (kept.size() > kKeptOutput) kept.erase(0, kept.size() - kKeptOutput);
    }
    return true;
  }

  const pid_t pid;
  asio::posix::stream_descriptor process;
  asio::posix::stream_descriptor output;
  asio::steady_timer last_words;
  asio::steady_timer pause;
  std::function<void()> on_end;
  std::optional<CommandEnd> end;
  bool ending_group = false;
  std::string kept;
};

absl::StatusOr<std::unique_ptr<ShellCommand>> ShellCommand::Start(asio::io_context& loop, const std::string& text,
                                                                  const std::vector<std::string>& additions,
                                                                  std::function<void()> on_end) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return Failed("pipe", errno);
  pid_t pid = 0;
  const int error = Spawn(text, additions, pipe_ends[1], &pid);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return Failed("posix_spawn", error);
  }
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) {
    const int reason = errno;
    EndAtOnce(pid);
    close(pipe_ends[0]);
    return Failed("pidfd_open", reason);
  }
  auto state = std::make_shared<State>(loop, pid, std::move(on_end));
  if (const error_code unwatched = state->Watch(process, pipe_ends[0])) {
    EndAtOnce(pid);
    return Failed("watch", unwatched.value());
  }
  state->AwaitEnd();
  state->AwaitOutput();
  return std::unique_ptr<ShellCommand>(new ShellCommand(std::move(state)));
}

ShellCommand::~ShellCommand() { state_->on_end = nullptr; }

std::optional<CommandEnd> ShellCommand::end() const { return state_->end; }

bool ShellCommand::over() const { return state_->end && !state_->ending_group; }

std::string ShellCommand::Output() const {
  std::string text = state_->kept;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

void ShellCommand::Kill() {
  if (!state_->end && !state_->ending_group) state_->EndGroup();
}

}  // namespace penstock
