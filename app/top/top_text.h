// Harmless texts cut or padded to a number of columns of a terminal, and figures as texts. Pure.
#ifndef PENSTOCK_APP_TOP_TOP_TEXT_H_
#define PENSTOCK_APP_TOP_TOP_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock::top {

// The columns of a harmless text (base/harmless.h).
int ColumnsOf(absl::string_view text);
// The first columns of a harmless text; what is cut ends in "~".
std::string Cut(absl::string_view text, int columns);
// Cut to the columns, and filled up with spaces: behind the text, or before it with `right`.
std::string Fit(absl::string_view text, int columns, bool right = false);

// 12, 9999, 12.3k, 4.5M.
std::string Short(double number);
// 12 ms, 3.4 s, 5 min, 2.0 h; "-" below zero.
std::string Span(double seconds);
// Bytes as "3.99 GB", tokens as "12.3k tok".
std::string Memory(double amount, bool in_bytes);

}  // namespace penstock::top

#endif  // PENSTOCK_APP_TOP_TOP_TEXT_H_
