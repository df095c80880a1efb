#include "app/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"

namespace penstock {
namespace {

constexpr Duration kQuietAtFirst = Duration::Seconds(2);
constexpr Duration kPause = Duration::Milliseconds(100);
constexpr double kLeastShare = 0.001;

std::string RestText(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 120) return absl::StrCat(whole, " s");
  if (whole < 7200) return absl::StrCat((whole + 59) / 60, " min");
  return absl::StrFormat("%.1f h", seconds / 3600);
}

size_t WidthOfTerminal() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - size_t{1} : 79;
}

}  // namespace

std::string ProgressText(Duration elapsed, double share) {
  constexpr int kWidth = 20;
  const double done = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<size_t>(done * kWidth);
  std::string text = absl::StrFormat("[%s%s] %.0f %%", std::string(full, '#'), std::string(kWidth - full, '.'),
                                     std::floor(100 * done));
  if (done < kLeastShare || done == 1) return text;
  return absl::StrCat(text, ", about ", RestText(elapsed.seconds() * (1 - done) / done), " left");
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0), began_(Now()) {}

void ProgressLine::Show(absl::string_view text, double share) {
  if (!terminal_) return;
  const Instant now = Now();
  if (now - began_ < kQuietAtFirst || (written_ && now - shown_ < kPause)) return;
  shown_ = now;
  written_ = true;
  const std::string line = absl::StrCat(ProgressText(now - began_, share), "  ", text).substr(0, WidthOfTerminal());
  absl::FPrintF(stderr, "\r%s\x1b[K", line);
  std::fflush(stderr);
}

void ProgressLine::Clear() {
  if (!std::exchange(written_, false)) return;
  absl::FPrintF(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace penstock
