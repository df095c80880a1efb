// The rooms of a core around a small fleet, without the dispatcher: a test calls one room and looks at the books.
#ifndef PENSTOCK_TESTS_CORE_ROOMS_FOR_TEST_H_
#define PENSTOCK_TESTS_CORE_ROOMS_FOR_TEST_H_

#include <memory>
#include <utility>
#include <vector>

#include "kvmodel/step_model.h"
#include "router/core/admission/rooms.h"
#include "tests/core/core_test_support.h"

namespace penstock::testing {

class TestRooms {
 public:
  explicit TestRooms(const FleetOptions& options = {}, CoreRules rules = {})
      : TestRooms(MakeFleet(options), std::move(rules)) {}
  explicit TestRooms(const Fleet& fleet, CoreRules rules = {}) : rooms(std::move(rules)) { Configure(fleet); }

  void Configure(const Fleet& fleet) {
    rooms.Configure(fleet, now);
    for (uint32_t i = 0; i < fleet.replicas.size(); ++i) rooms.servers.SetHealth(ReplicaId(i), Health::kUp, now);
    UpdateFloors();
  }
  // The rooms of a core do this after every change; the short cuts of a test do not.
  void UpdateFloors() {
    for (size_t i = 0; i < rooms.fleet.replicas().size(); ++i) rooms.floors.Update(std::span(&i, 1), now);
  }
  // An open request that neither waits nor runs yet.
  RequestState* New(uint64_t id, int64_t prompt, ClassId service_class = ClassId(1)) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = service_class;
    arrived.prompt = Tokens(prompt);
    return New(arrived);
  }
  RequestState* New(const RequestArrived& arrived) {
    auto owned = std::make_unique<RequestState>();
    owned->arrived = arrived;
    owned->arrival = owned->waiting.since = now;
    owned->sequence = next_sequence++;
    RequestState* request = rooms.requests.Add(std::move(owned));
    rooms.forecasts.Prepare(request);
    request->waiting.place = request->arrival + rooms.fleet.GoalsOf(*request).ttft;
    return request;
  }
  // One that waits in its lane.
  RequestState* Waiting(uint64_t id, int64_t prompt, ClassId service_class = ClassId(1)) {
    RequestState* request = New(id, prompt, service_class);
    rooms.waiting.Push(request, rooms.lateness.NextCheck(*request, now));
    return request;
  }
  // One that runs on the replica, before its first token.
  RequestState* Running(uint64_t id, int64_t prompt, uint32_t replica = 0) { return Start(New(id, prompt), replica); }
  RequestState* Start(RequestState* request, uint32_t replica = 0) {
    std::vector<GrowthMember> members;
    for (size_t i = 0; i < Replica(replica).spec().pools.size(); ++i) members.push_back(MemberOf(*request, replica, i));
    std::vector<GrowthVector> growth;
    AddContributions(members, growth);
    rooms.running.Start(request, ReplicaId(replica), growth, 0.1, now);
    return request;
  }
  // One past its first token.
  RequestState* Decoding(uint64_t id, int64_t prompt, uint32_t replica = 0) {
    RequestState* request = Running(id, prompt, replica);
    rooms.running.TakeFirstToken(request, now);
    return request;
  }
  // Lone requests teach the replica, which must be idle, so many seconds outside of its steps. The fleet's step times
  // are exact (learns_steps is false).
  void TeachHostTime(double seconds, uint32_t replica = 0) {
    for (size_t i = 0; i < HostTime::kWindow; ++i) {
      RequestState* request = Running(1'000'000 + i, 100, replica);
      const ReplicaSpec& spec = Replica(replica).spec();
      Wait(rooms.fleet.spec().limits.dispatch_delay);
      Wait(Duration::Seconds(seconds +
                             FirstTokenAlone(spec.prior, PrefillOf(Tokens(0), Tokens(100)), spec.batch_budget)));
      rooms.running.TakeFirstToken(request, now);
      rooms.running.Leave(request, now);
      rooms.fleet.ledger().Release(request->running.lease);
      rooms.requests.Erase(request->arrived.request);
    }
    rooms.servers.SetHealth(ReplicaId(replica), Health::kUp, now);
  }
  // The request as a member of the replica's pool at that position.
  GrowthMember MemberOf(const RequestState& request, uint32_t id = 0, size_t pool = 0) const {
    const ReplicaState& replica = rooms.fleet.replica(ReplicaId(id));
    const DecodePace pace = rooms.forecasts.PaceOf(replica);
    return rooms.forecasts.MemberOf(request, replica, replica.spec().pools[pool], pace, now);
  }
  ReplicaState& Replica(uint32_t id = 0) { return rooms.fleet.replica(ReplicaId(id)); }
  void Wait(Duration duration) { now = now + duration; }

  Instant now = Instant::FromSeconds(100);
  uint64_t next_sequence = 1;
  Rooms rooms;
};

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_ROOMS_FOR_TEST_H_
