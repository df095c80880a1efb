// The demo's state as a line of text. Pure.
#ifndef PENSTOCK_APP_DEMO_DEMO_SCREEN_H_
#define PENSTOCK_APP_DEMO_DEMO_SCREEN_H_

#include <string>

#include "app/demo/demo_stats.h"
#include "base/units.h"
#include "router/core/contract/admission_core.h"

namespace penstock::bench {

struct DemoFrame {
  std::string url;
  Duration elapsed;
  CoreView core;
  DemoSnapshot stats;
};

// One line without a line end.
std::string DemoLine(const DemoFrame& frame);

}  // namespace penstock::bench

#endif  // PENSTOCK_APP_DEMO_DEMO_SCREEN_H_
