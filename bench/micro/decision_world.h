// A fleet in virtual time that drives a decision core as the edge does, and notes what each Apply costs.
//
// Three models: sessions of an agent whose prompts grow and share their beginnings, chat, and code. Two classes with
// goals that bind. Some replicas share a GPU and a pool. More arrives than the fleet can serve, so lanes wait, requests
// are refused for lateness, and large prompts get reservations. Equal seeds give equal events. The engines are step
// machines of the core's own step model: enough to keep the core busy, no measure of its decisions.
#ifndef PENSTOCK_BENCH_MICRO_DECISION_WORLD_H_
#define PENSTOCK_BENCH_MICRO_DECISION_WORLD_H_

#include <array>
#include <cstdint>
#include <deque>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

#include "router/core/penstock_core.h"

namespace penstock::bench {

enum class EventKind : uint8_t { kArrival, kFirstToken, kProgress, kReport, kEnd, kTimer };
inline constexpr size_t kEventKinds = 6;

// CPU microseconds of each Apply, in order, by kind.
using Costs = std::array<std::vector<float>, kEventKinds>;

struct WorldFigures {
  int64_t forwarded = 0;
  int64_t refused = 0;
  int64_t most_waiting = 0;
  int64_t running = 0;
  int64_t most_reserved = 0;
  uint64_t digest = 0;  // The digest of all actions.
};

class DecisionWorld {
 public:
  DecisionWorld(uint32_t replicas, double load);

  // Lets virtual time pass.
  void Run(Duration duration);
  // Forgets the costs so far.
  void Restart();
  const Costs& costs() const { return costs_; }
  const WorldFigures& figures() const { return figures_; }

 private:
  struct Session {
    uint64_t family = 0;
    uint64_t id = 0;
    int64_t tokens = 0;
    int turns = 0;
    ReplicaId last;  // The replica of its newest turn.
  };
  struct Request {
    RequestArrived arrived;
    Session session;
    ReplicaId replica;
    int64_t prefill = 0;
    int64_t cached = 0;
    int64_t output = 0;
    int64_t generated = 0;
  };
  struct Engine {
    std::deque<RequestId> prefilling;
    std::vector<RequestId> decoding;
    int64_t kv_tokens = 0;
    int64_t steps = 0;  // Since the last sample.
    Instant newest;
    bool stepping = false;
  };
  enum class Due : uint8_t { kArrival, kTurn, kStep, kSample, kReport };
  struct Planned {
    Instant at;
    uint64_t order = 0;
    Due due = Due::kArrival;
    uint64_t which = 0;  // A model, a session or a replica.
    bool operator>(const Planned& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };

  double Unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double Exponential(double mean);
  void Plan(Instant at, Due due, uint64_t which);
  void Take(const Planned& planned);
  void Arrive(uint64_t model);
  void Turn(Session session);
  void Send(Request request);
  void Step(uint32_t replica);
  // One step's prefill.
  PrefillWork Prefill(uint32_t replica, std::vector<RequestId>& first);
  void StartStep(uint32_t replica, const PrefillWork& prefill);
  void Sample(uint32_t replica);
  void Report(uint32_t replica);
  void End(RequestId id);
  void Apply(const Event& event, EventKind kind);
  void FireTimers();
  void Take(const Action& action);

  const Fleet fleet_;
  std::array<double, 3> gaps_;  // Seconds between arrivals of each model.
  std::mt19937_64 random_{7};
  PenstockCore core_;
  Instant now_ = Instant::FromSeconds(1);
  uint64_t ids_ = 0;
  uint64_t orders_ = 0;
  int64_t waiting_ = 0;
  std::priority_queue<Planned, std::vector<Planned>, std::greater<>> plan_;
  std::unordered_map<uint64_t, Request> requests_;
  std::unordered_map<uint64_t, Session> sessions_;
  std::vector<Engine> engines_;
  std::vector<Action> actions_;
  Costs costs_;
  WorldFigures figures_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_MICRO_DECISION_WORLD_H_
