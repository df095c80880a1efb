// The pages of a simulated engine that need no step: status, models, tokens.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_PAGES_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_PAGES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/face/job.h"

namespace penstock::simulated {

struct Page {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
};

// `path` ends before the question mark, `query` begins after it.
struct PageRequest {
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view body;
  int64_t now_unix = 0;
};

// The page of the dialect, or its 404 or 405.
Page AnswerPage(const PageRequest& request, const Engine& engine);
// The page /metrics of vLLM over all ranks.
Page RankMetricsPage(const Engines& ranks);
Page ErrorPage(const ApiError& error, const Engine& engine, Route route = Route::kChat);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_PAGES_H_
