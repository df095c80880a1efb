// GET /metrics of a simulated engine: the names, labels and meanings of the engine that it stands for, exact now.
#ifndef PENSTOCK_BACKENDS_SIMULATED_METRICS_PAGE_H_
#define PENSTOCK_BACKENDS_SIMULATED_METRICS_PAGE_H_

#include <string>

#include "backends/simulated/engine.h"

namespace penstock::simulated {

// vLLM's (v1/metrics/loggers.py). num_gpu_blocks counts vLLM's reserved null block, so that
// (1 - kv_cache_usage_perc) x (num_gpu_blocks - 1) are the free blocks.
std::string VllmMetrics(const Engine& engine);
// llama-server's (server-task.cpp). Rates since the last scrape are always 0, as a second scraper sees them.
std::string LlamaMetrics(const Engine& engine);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_METRICS_PAGE_H_
