// Configurations drawn at random: replicas, roles, sleep, adapters, hosts, classes and tenants come, go and change.
//
// Names come from a few, so a replica, a model or a class that left often comes back. A drawn text may be refused by
// the parser, as an operator's may. Pure.
#ifndef PENSTOCK_TESTS_APP_RELOADS_DRAWN_CONFIG_H_
#define PENSTOCK_TESTS_APP_RELOADS_DRAWN_CONFIG_H_

#include <string>

#include "backends/engines/contract/discovery.h"
#include "router/fleet/fleet_book.h"
#include "tests/core/choices.h"

namespace penstock::testing {

std::string DrawConfigText(Choices& choices);
// Every model has a replica that answers whole requests, without a limit of tenants.
std::string CalmConfigText();

// The answer of an engine: the models of its configuration or others, with some of its adapters.
Discovery DrawDiscovery(Choices& choices, const FleetBook& book, ReplicaId replica);

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_APP_RELOADS_DRAWN_CONFIG_H_
