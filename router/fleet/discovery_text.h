// One line for the log: the report of an engine and the limits that the router uses, for an operator to compare.
//
// A function of its arguments; thread-safe.
#ifndef PENSTOCK_ROUTER_FLEET_DISCOVERY_TEXT_H_
#define PENSTOCK_ROUTER_FLEET_DISCOVERY_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "backends/engines/contract/discovery.h"
#include "router/core/contract/fleet.h"

namespace penstock {

// `in_use` is the replica that follows from the discovery. Example: "engine is vllm 0.32.0 with model tiny: context
// 4096 tokens, KV memory 8192 tokens in blocks of 32, at most 256 sequences".
std::string DiscoveryText(const Discovery& discovery, const ReplicaSpec& in_use);
// Why an engine gave no report, with a hint where it refuses the key or has none of the pages.
std::string WhyUnreached(const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_DISCOVERY_TEXT_H_
