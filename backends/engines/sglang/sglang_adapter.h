// SGLang: capacity from /server_info (/get_server_info in older releases), observation from /v1/loads.
//
// Its /health generates a token and takes a second or more, so /model_info is the health path. A vanished client is
// noticed up to 4 s late, 2 s for a running stream.
#ifndef PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_ADAPTER_H_
#define PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_ADAPTER_H_

#include <memory>

#include "backends/engines/adapter.h"

namespace penstock {

std::unique_ptr<EngineAdapter> MakeSglangAdapter();

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_ADAPTER_H_
