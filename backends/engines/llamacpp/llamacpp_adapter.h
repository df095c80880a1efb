// llama-server: capacity from /props, observation from /metrics where it is on and from /slots.
//
// /slots wakes a sleeping server and keeps it awake, so it is asked only while something runs (/metrics tells) or,
// without /metrics, while /props says that the server is awake: such a server does not fall asleep under our polls.
// Non-streamed requests go upstream as streams: only those can be cancelled. Its connections close after a stream.
#ifndef PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_ADAPTER_H_
#define PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_ADAPTER_H_

#include <memory>

#include "backends/engines/adapter.h"

namespace penstock {

std::unique_ptr<EngineAdapter> MakeLlamaCppAdapter();

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_ADAPTER_H_
