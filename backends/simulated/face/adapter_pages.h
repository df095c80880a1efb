// The routes that load and unload the adapters of a simulated engine, as vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_ADAPTER_PAGES_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_ADAPTER_PAGES_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/face/pages.h"

namespace penstock::simulated {

bool IsAdapterRoute(const PageRequest& request);
// The answer comes once the adapter is loaded.
boost::asio::awaitable<Page> AnswerAdapterRoute(PageRequest request, std::shared_ptr<Engine> engine);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_ADAPTER_PAGES_H_
