// The part of the fleet's document about the time of the GPUs. Pure. docs/gpu-seconds.md defines the figures.
#ifndef PENSTOCK_ROUTER_PAGE_GPU_TIME_JSON_H_
#define PENSTOCK_ROUTER_PAGE_GPU_TIME_JSON_H_

#include "absl/strings/string_view.h"
#include "router/page/json_writer.h"
#include "router/page/page_facts.h"

namespace penstock {

// Seconds by state, as an object of that name.
void PutStates(absl::string_view name, const GpuTime& time, JsonWriter& json);
// The time of all GPUs, its cost and the wasted tokens.
void PutGpuTime(const PageFacts& facts, JsonWriter& json);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_GPU_TIME_JSON_H_
