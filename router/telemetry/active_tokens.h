// The edge counts active tokens by the definition of kvmodel.
#ifndef PENSTOCK_ROUTER_TELEMETRY_ACTIVE_TOKENS_H_
#define PENSTOCK_ROUTER_TELEMETRY_ACTIVE_TOKENS_H_

#include "kvmodel/active_tokens.h"

#endif  // PENSTOCK_ROUTER_TELEMETRY_ACTIVE_TOKENS_H_
