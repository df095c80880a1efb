// GET /metrics of a simulated engine, with the names, labels and meanings of the real engine.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_METRICS_PAGE_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_METRICS_PAGE_H_

#include <span>
#include <string>

#include "backends/simulated/engine/engine.h"

namespace penstock::simulated {

// The page of vLLM (v1/metrics/loggers.py). num_gpu_blocks counts the reserved null block of vLLM, so the free blocks
// are (1 - kv_cache_usage_perc) x (num_gpu_blocks - 1).
// One label set per data-parallel rank.
std::string VllmMetrics(std::span<const Engine* const> ranks);
// The page of llama-server (server-task.cpp). Rates since the last scrape are always 0, as a second scraper sees them.
std::string LlamaMetrics(const Engine& engine);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_METRICS_PAGE_H_
