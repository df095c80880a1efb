#include "router/core/books/decoding_streams.h"

#include <algorithm>

namespace penstock {
namespace {

// Due times are steps times TPOT in nanoseconds: 10 s last for a year at 29 steps a second. A stream that is due more
// slowly is taken to be due so soon.
constexpr Duration kMostTpot = Duration::Seconds(10);

}  // namespace

void DecodingStreams::Configure(const std::vector<ClassSpec>& classes) {
  classes_ = classes;
  for (ClassSpec& goals : classes_) goals.tpot = std::min(goals.tpot, kMostTpot);
  if (due_.size() < classes.size()) due_.resize(classes.size());
}

int64_t DecodingStreams::Generated(const RequestState& request) const {
  if (request.phase != RequestPhase::kDecoding) return 0;
  return request.running.base_tokens + steps_ - request.running.base_steps;
}

int64_t DecodingStreams::DueKey(const RequestState& request) const {
  const ClassSpec& goals = classes_[request.arrived.service_class.value()];
  const int64_t ahead = request.kept.value() + request.running.base_tokens - request.running.base_steps;
  return (request.arrival + goals.ttft).nanoseconds() + ahead * goals.tpot.nanoseconds();
}

void DecodingStreams::Join(RequestState* request) {
  request->running.base_tokens = 1;
  request->running.base_steps = steps_;
  request->running.due_key = DueKey(*request);
  due_[request->arrived.service_class.value()].insert({request->running.due_key, request->arrived.request.value()});
  sequences_ += request->arrived.sequences;
  kv_tokens_ += request->arrived.sequences * (request->Prompt().value() + 1);
  fresh_.push_back(request);
}

void DecodingStreams::Correct(RequestState* request, int64_t tokens) {
  kv_tokens_ += (tokens - Generated(*request)) * request->arrived.sequences;
  DueSet& due = due_[request->arrived.service_class.value()];
  due.erase({request->running.due_key, request->arrived.request.value()});
  request->running.base_tokens = tokens;
  request->running.base_steps = steps_;
  request->running.due_key = DueKey(*request);
  due.insert({request->running.due_key, request->arrived.request.value()});
}

void DecodingStreams::Rekey(const std::vector<RequestState*>& requests) {
  for (RequestState* request : requests) {
    if (request->phase == RequestPhase::kDecoding) Correct(request, Generated(*request));
  }
}

void DecodingStreams::Leave(RequestState* request) {
  due_[request->arrived.service_class.value()].erase({request->running.due_key, request->arrived.request.value()});
  sequences_ -= request->arrived.sequences;
  kv_tokens_ -= request->arrived.sequences * (request->Prompt().value() + Generated(*request));
  fresh_.erase(std::remove(fresh_.begin(), fresh_.end(), request), fresh_.end());
}

void DecodingStreams::Advance(int64_t steps) {
  steps_ += steps;
  kv_tokens_ += steps * sequences_;
  // The step that made a first token is among the steps just counted.
  for (RequestState* request : fresh_) Correct(request, std::max<int64_t>(1, Generated(*request) - 1));
  fresh_.clear();
}

Instant DecodingStreams::NextDue(ClassId service_class, Instant now) const {
  const DueSet& due = due_[service_class.value()];
  const int64_t shift = steps_ * classes_[service_class.value()].tpot.nanoseconds();
  const auto first = due.lower_bound({now.nanoseconds() - shift, 0});
  return first == due.end() ? Instant::Never() : Instant::FromNanoseconds(first->first + shift);
}

Instant DecodingStreams::DueOf(const RequestState& request) const {
  const ClassSpec& goals = classes_[request.arrived.service_class.value()];
  return Instant::FromNanoseconds(request.running.due_key + steps_ * goals.tpot.nanoseconds());
}

void DecodingStreams::MostAhead(ClassId service_class, size_t most, std::vector<RequestId>& out) const {
  const DueSet& due = due_[service_class.value()];
  for (auto it = due.rbegin(); it != due.rend() && most > 0; ++it, --most) out.push_back(RequestId(it->second));
}

bool DecodingStreams::SumsHold(const std::vector<RequestState*>& requests) const {
  int64_t sequences = 0;
  int64_t kv_tokens = 0;
  size_t streams = 0;
  for (const RequestState* request : requests) {
    if (request->phase != RequestPhase::kDecoding) continue;
    ++streams;
    sequences += request->arrived.sequences;
    kv_tokens += request->arrived.sequences * (request->Prompt().value() + Generated(*request));
  }
  for (const DueSet& due : due_) streams -= due.size();
  return sequences == sequences_ && kv_tokens == kv_tokens_ && streams == 0;
}

}  // namespace penstock
