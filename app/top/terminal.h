// The terminal of `penstock top`: its size, its keys one by one, and a screen of its own that goes when it ends.
#ifndef PENSTOCK_APP_TOP_TERMINAL_H_
#define PENSTOCK_APP_TOP_TERMINAL_H_

#include <termios.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "app/top/top_screen.h"

namespace penstock::top {

// Both ends are a terminal.
bool OnTerminal();

// The keys in what a terminal sent: single characters and whole escape sequences.
std::vector<std::string> KeysOf(absl::string_view bytes);

// Raw keys and the alternate screen, until it is destroyed.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // 80 x 24 where the terminal does not tell.
  Size size() const;
  // False: the terminal is gone.
  bool Show(const std::vector<Line>& lines) const;

 private:
  termios before_{};
  const bool colors_;
};

}  // namespace penstock::top

#endif  // PENSTOCK_APP_TOP_TERMINAL_H_
