// Draws the state of a router as lines for a terminal of any size, and turns keys into changes of the view. Pure.
#ifndef PENSTOCK_APP_TOP_TOP_SCREEN_H_
#define PENSTOCK_APP_TOP_TOP_SCREEN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "app/top/top_state.h"

namespace penstock::top {

// The choices of the person in front of the terminal.
struct TopView {
  Panel panel = Panel::kReplicas;
  int sort = -1;  // A column; -1: in the order of the router.
  bool descending = false;
  std::string filter;
  bool typing = false;  // Keys go into the filter.
  size_t scroll = 0;    // Rows above the screen.
  bool quit = false;
};

enum class Style : uint8_t { kPlain, kTitle, kHead, kQuiet, kGood, kWarn, kBad };
struct Line {
  std::string text;
  Style style = Style::kPlain;
};

// One key, or one escape sequence of the terminal.
void OnKey(absl::string_view key, TopView& view);

// The connection as the first line tells it.
struct Link {
  std::string url;
  double age = 0;     // Seconds since the state came; below 0: none has come yet.
  std::string error;  // Empty: the last reading was good.
};

struct Size {
  int columns = 80;
  int rows = 24;
};

// At most `size.rows` lines of at most `size.columns` columns. `view` is scrolled back to what there is.
std::vector<Line> Draw(const TopState& state, const Link& link, TopView& view, Size size);
// The state in one line without a line end.
std::string PlainLine(const TopState& state);

}  // namespace penstock::top

#endif  // PENSTOCK_APP_TOP_TOP_SCREEN_H_
