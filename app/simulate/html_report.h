// A simulated run as one HTML page that names no other file: its figures and plots of its course as SVG.
#ifndef PENSTOCK_APP_SIMULATE_HTML_REPORT_H_
#define PENSTOCK_APP_SIMULATE_HTML_REPORT_H_

#include <string>
#include <vector>

#include "app/simulate/run_series.h"

namespace penstock {

struct HtmlReport {
  std::string title;  // Fleet, trace and policy.
  std::string table;  // The figures, as the command prints them.
  Duration slice;
  std::vector<RunSeries::Slice> slices;
};

// Equal arguments give equal bytes. Texts are escaped.
std::string HtmlOf(const HtmlReport& report);

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_HTML_REPORT_H_
