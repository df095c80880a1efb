// SGLang: capacity from /server_info, load from /v1/loads.
//
// Its /health page generates a token and takes a second or more, so no poll asks for that page. SGLang notices a
// vanished client up to 4 s late, and within 2 s during a stream.
#ifndef PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_H_
#define PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_H_

#include "backends/engines/contract/engine_declaration.h"

namespace penstock {

extern const EngineDeclaration kSglangEngine;

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_SGLANG_SGLANG_H_
