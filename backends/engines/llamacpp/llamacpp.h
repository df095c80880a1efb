// llama-server: capacity from /props, load from /metrics where it is on, and from /slots.
//
// /slots wakes a sleeping server and keeps it awake. So a poll asks for /slots only while a request runs, as /metrics
// shows. Without /metrics, a poll asks for /slots unless /props shows that the server sleeps; an awake server then
// stays awake. Only a streamed request can be cancelled. Connections close after a stream.
#ifndef PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_H_
#define PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_H_

#include "backends/engines/contract/engine_declaration.h"

namespace penstock {

extern const EngineDeclaration kLlamaCppEngine;

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_LLAMACPP_LLAMACPP_H_
