// The demo's state as lines of text. Pure.
#ifndef PENSTOCK_APP_DEMO_DEMO_SCREEN_H_
#define PENSTOCK_APP_DEMO_DEMO_SCREEN_H_

#include <string>
#include <vector>

#include "app/demo/demo_stats.h"
#include "base/units.h"
#include "router/core/contract/admission_core.h"
#include "router/page/comparison.h"

namespace penstock::bench {

struct DemoFrame {
  std::string url;
  Duration elapsed;
  CoreView core;
  DemoSnapshot stats;
};

// One line without a line end.
std::string DemoLine(const DemoFrame& frame);
// The routers of the demo beside each other, in one line without a line end; empty: there is nothing to compare.
std::string ContestText(const std::vector<ComparisonRow>& rows);

}  // namespace penstock::bench

#endif  // PENSTOCK_APP_DEMO_DEMO_SCREEN_H_
