// Live mixed traffic for the demo: four kinds of clients with their own class, lengths and rhythm.
//
//   chats   interactive, short prompts and answers; 6 req/s with a burst of six times that for 6 s every 30 s
//   work    standard, conversation-like lengths, one in ten with a prompt of several thousand tokens; 3 req/s
//   jobs    background, long answers; two requests in three seconds
//   visits  standard, short, for a model that sleeps in between; one request in 12 seconds
//
// The average is about two thirds of the demo fleet's capacity; a burst exceeds it.
#ifndef PENSTOCK_APP_DEMO_DEMO_TRAFFIC_H_
#define PENSTOCK_APP_DEMO_DEMO_TRAFFIC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "bench/figures/results.h"
#include "bench/traces/trace.h"

namespace penstock::bench {

struct DemoStream {
  std::string service_class;
  Goals goals;
  Trace trace;
};

// The models that the traffic asks for.
struct DemoModels {
  std::string chat;
  std::string code;
  std::string reason;
  std::string rare;
};

std::vector<DemoStream> DemoTraffic(const DemoModels& models, Duration length, uint64_t seed);

}  // namespace penstock::bench

#endif  // PENSTOCK_APP_DEMO_DEMO_TRAFFIC_H_
