// A line on stderr that is written over while a command works, with an estimate of the rest.
//
// Shown on a terminal only, from two seconds on, at most ten times a second. For one thread.
#ifndef PENSTOCK_APP_PROGRESS_LINE_H_
#define PENSTOCK_APP_PROGRESS_LINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `share` of the work is done, from 0 to 1. Text beyond the width of the terminal is cut.
  void Show(absl::string_view text, double share);
  // Before anything else is printed.
  void Clear();

 private:
  const bool terminal_;
  const Instant began_;
  Instant shown_;
  bool written_ = false;
};

// "[####....] 40 %, about 3 s left". Without an estimate while less than a thousandth is done, and
// when all is.
std::string ProgressText(Duration elapsed, double share);

}  // namespace penstock

#endif  // PENSTOCK_APP_PROGRESS_LINE_H_
