#include "router/core/placement/giving_way.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// On bench/scenarios/jobs.yaml, 0.35 leaves a tenth of the work undone, and with 0.7 bursts wait as long as before.
constexpr double kLonger = 0.5;
// Short prompts share a step; a long one goes alone.
constexpr double kPrefill = 0.25;
// Rows for the newcomers of the next step or two; a row that they take is theirs until they end.
constexpr double kReserve = 1.0 / 16;
// With 10 s, bursts every 20 s wait a tenth longer.
constexpr Duration kDemand = Duration::Seconds(60);
// Steps that a first token may come after its forecast before its prompt counts as waiting in the engine.
constexpr double kOverdueSteps = 8;
// And so many seconds: chunks of other prompts delay a first token too. One that is later by far is no sign of rows.
constexpr Duration kLeastOverdue = Duration::Milliseconds(250);
constexpr Duration kMostOverdue = Duration::Seconds(30);

// Prompts without a first token: the most that queue in an engine of unknown rows.
constexpr size_t kMostPrompts = 8;

bool HasDemand(const GuardQuestion& question) {
  const ReplicaLoad& load = question.replica.load;
  if (load.sequences > load.yielding) return true;
  return question.demand.Lately(question.replica.spec().models, kDemand, question.now);
}

bool QueuesInside(const GuardQuestion& question) {
  const auto& prefilling = question.replica.prefills().requests();
  if (prefilling.empty()) return false;
  const RunState& oldest = prefilling.front()->running;
  const Duration patience = std::max(kLeastOverdue, Duration::Seconds(kOverdueSteps * question.outlook.step));
  const Duration late = question.now - oldest.first_expected;
  return oldest.prefill_left == Tokens(0) && late > patience && late < kMostOverdue;
}

double EmptyStep(const GuardQuestion& question) {
  return question.replica.steps_model().DecodeStep(0, 0, question.busy_neighbours);
}

bool StepsStayShort(const GuardQuestion& question) {
  const ReplicaState& replica = question.replica;
  // A long context alone would else never start.
  if (replica.load.yielding == 0) return true;
  const double sequences = std::max(1.0, static_cast<double>(replica.load.sequences));
  const double yielding = static_cast<double>(replica.load.yielding);
  const double context = static_cast<double>(replica.streams().kv_tokens()) * yielding / sequences;
  const RequestState& request = question.request;
  const double step = replica.steps_model().DecodeStep(yielding + request.arrived.sequences,
                                                       context + request.Prompt().AsDouble(), question.busy_neighbours);
  return step <= (1 + kLonger) * EmptyStep(question);
}

bool PrefillStaysShort(const GuardQuestion& question) {
  if (question.replica.prefills().requests().empty()) return true;
  return question.outlook.price.Of(question.outlook.queued) <= kPrefill * EmptyStep(question);
}

bool NoBurstIsUnderWay(const GuardQuestion& question) {
  return !question.demand.Bursts(question.replica.spec().models, question.now);
}

bool RowsStayFree(const GuardQuestion& question) {
  const int rows = RowsOf(question.replica, question.now);
  const auto reserve = static_cast<int64_t>(std::llround(kReserve * rows));
  return question.replica.sequences() + question.request.arrived.sequences + reserve <= rows;
}

}  // namespace

int RowsOf(const ReplicaState& replica, Instant now) {
  const SeenRows& seen = replica.facts.rows;
  const int most = replica.spec().max_sequences;
  return replica.load.yielding > 0 && now < seen.until ? std::min(most, seen.most) : most;
}

bool GivesWay(const GuardQuestion& question) {
  return question.goals().evictable && !question.request.service.guaranteed;
}

bool LeavesRoom(const GuardQuestion& question) {
  if (QueuesInside(question) || question.replica.prefills().requests().size() >= kMostPrompts) return false;
  if (!HasDemand(question)) return true;
  return StepsStayShort(question) && PrefillStaysShort(question) && RowsStayFree(question) &&
         NoBurstIsUnderWay(question);
}

}  // namespace penstock
