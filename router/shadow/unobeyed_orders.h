// The answers to orders of a shadow to replicas: nobody carries them out, and the old state stays. Pure.
#ifndef PENSTOCK_ROUTER_SHADOW_UNOBEYED_ORDERS_H_
#define PENSTOCK_ROUTER_SHADOW_UNOBEYED_ORDERS_H_

#include <algorithm>
#include <variant>
#include <vector>

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock {

// An order that is among `given` was really given too: its real end answers it. One that moves a limit has no answer.
inline std::vector<Event> AnswersTo(const std::vector<Action>& orders, const std::vector<Action>& given) {
  std::vector<Event> answers;
  for (const Action& order : orders) {
    if (std::find(given.begin(), given.end(), order) != given.end()) continue;
    if (const auto* sleep = std::get_if<Sleep>(&order)) {
      answers.push_back(ReplicaResidency{sleep->replica, Residency::kAwake, false, Duration()});
    } else if (const auto* wake = std::get_if<Wake>(&order)) {
      answers.push_back(ReplicaResidency{wake->replica, Residency::kAsleep, true, Duration()});
    } else if (const auto* load = std::get_if<LoadAdapter>(&order)) {
      if (load->instead_of) {
        answers.push_back(AdapterResidency{load->replica, *load->instead_of, true, false, Duration()});
      }
      // Without a time the core takes it for an older look at the engine.
      answers.push_back(AdapterResidency{load->replica, load->model, false, true, Duration::Milliseconds(1)});
    }
  }
  return answers;
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SHADOW_UNOBEYED_ORDERS_H_
