// The rooms that answer events, around a small fleet: entry, exits, verdicts and pump, without the dispatcher.
#ifndef PENSTOCK_TESTS_CORE_ADMISSION_ADMISSION_FIXTURE_H_
#define PENSTOCK_TESTS_CORE_ADMISSION_ADMISSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <vector>

#include "router/core/admission/entry.h"
#include "router/core/admission/exits.h"
#include "router/core/admission/pump.h"
#include "router/core/admission/verdicts.h"
#include "tests/core/rooms_for_test.h"

namespace penstock::testing {

inline constexpr ModelId kChat(0);

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() { Begin({}); }

  void Begin(const FleetOptions& options) {
    test_.Configure(MakeFleet(options));
    test_.rooms.work.StartEvent();
    test_.rooms.work.SetUnfinished(kChat, false);
  }
  std::vector<Action> Admit(uint64_t id, int64_t prompt, ModelId model = kChat) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.model = model;
    arrived.service_class = ClassId(1);
    arrived.prompt = Tokens(prompt);
    std::vector<Action> actions;
    entry_.Admit(arrived, test_.now, actions);
    return actions;
  }
  std::vector<Action> PumpOpened() {
    std::vector<Action> actions;
    test_.rooms.work.StartEvent();
    recalls_.StartEvent(test_.now);
    parking_.StartEvent();
    eviction_.StartEvent();
    pump_.PumpOpened(test_.now, actions);
    return actions;
  }
  std::vector<Action> RefuseLate() {
    std::vector<Action> actions;
    test_.rooms.work.StartEvent();
    pump_.RefuseLate(test_.now, actions);
    return actions;
  }
  RequestState* Find(uint64_t id) { return test_.rooms.requests.Find(RequestId(id)); }
  static FleetOptions Pool(int64_t tokens) {
    FleetOptions options;
    options.pool_tokens = tokens;
    options.enforce_goals = false;
    return options;
  }

  TestRooms test_;
  Verdicts verdicts_{test_.rooms};
  Entry entry_{test_.rooms, verdicts_};
  Exits exits_{test_.rooms};
  Recalls recalls_{test_.rooms.fleet, test_.rooms.running};
  Parking parking_{test_.rooms.fleet, test_.rooms.forecasts, test_.rooms.lending, test_.rooms.requests, recalls_};
  Eviction eviction_{test_.rooms.fleet, test_.rooms.lending, test_.rooms.memory, recalls_};
  Pump pump_{test_.rooms, verdicts_, parking_, eviction_};
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_ADMISSION_ADMISSION_FIXTURE_H_
