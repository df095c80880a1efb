#include "app/top/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace penstock::top {
namespace {

// Alternate screen, no cursor; and back.
constexpr absl::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr absl::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";

bool WriteAll(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

absl::string_view CodeOf(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kTitle:
      return "\x1b[1m";
    case Style::kHead:
      return "\x1b[7m";
    case Style::kQuiet:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kWarn:
      return "\x1b[33m";
    case Style::kBad:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

bool OnTerminal() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

std::vector<std::string> KeysOf(absl::string_view bytes) {
  std::vector<std::string> keys;
  while (!bytes.empty()) {
    size_t length = 1;
    if (bytes[0] == '\x1b' && bytes.size() > 2 && (bytes[1] == '[' || bytes[1] == 'O')) {
      length = 3;
      // Parameters end at a letter or a tilde.
      while (length < bytes.size() && bytes[length - 1] != '~' &&
             !absl::ascii_isalpha(static_cast<unsigned char>(bytes[length - 1]))) {
        ++length;
      }
    }
    keys.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return keys;
}

Terminal::Terminal() : colors_(std::getenv("NO_COLOR") == nullptr) {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  WriteAll(kEnter);
}

Terminal::~Terminal() {
  WriteAll(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

Size Terminal::size() const {
  winsize told{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &told) != 0 || told.ws_col == 0 || told.ws_row == 0) return {};
  return {told.ws_col, told.ws_row};
}

bool Terminal::Show(const std::vector<Line>& lines) const {
  std::string text = "\x1b[H";
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool styled = lines[i].style == Style::kHead || colors_;
    absl::StrAppend(&text, i == 0 ? "" : "\r\n", styled ? CodeOf(lines[i].style) : "", lines[i].text, "\x1b[0m\x1b[K");
  }
  return WriteAll(text + "\x1b[J");
}

}  // namespace penstock::top
