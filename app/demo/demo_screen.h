// Draws the demo's state as text: a screen for terminals, one line for logs. Pure.
#ifndef PENSTOCK_APP_DEMO_DEMO_SCREEN_H_
#define PENSTOCK_APP_DEMO_DEMO_SCREEN_H_

#include <string>
#include <vector>

#include "app/demo/demo_stats.h"
#include "base/units.h"
#include "router/core/contract/admission_core.h"

namespace penstock::bench {

// Pools as they lie on a GPU.
struct DemoGpu {
  std::string title;               // "gpu0  a100-80"
  std::vector<std::string> pools;  // Names in CoreView::pools.
};

struct DemoFrame {
  std::string url;
  Duration elapsed;
  CoreView core;
  DemoSnapshot stats;
};

// Several lines without control codes, each at most 100 columns wide; UTF-8 blocks for the bars.
std::string DrawDemo(const DemoFrame& frame, const std::vector<DemoGpu>& gpus);
// The same in one line without a line end.
std::string DemoLine(const DemoFrame& frame);

}  // namespace penstock::bench

#endif  // PENSTOCK_APP_DEMO_DEMO_SCREEN_H_
