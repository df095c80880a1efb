#include "router/page/page_json.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "config/keys/names.h"
#include "router/page/json_writer.h"

namespace penstock {
namespace {

void PutLanes(const CoreView& view, JsonWriter& json) {
  json.Begin("lanes", '[');
  size_t listed = 0;
  for (const LaneView& lane : view.lanes) {
    if (lane.waiting == 0 || ++listed > kMostListed) continue;
    json.Begin('{')
        .Put("model", lane.model)
        .Put("class", lane.service_class)
        .Put("waiting", lane.waiting)
        .Put("parked", lane.parked)
        .Put("oldest_wait_s", lane.oldest_wait)
        .Put("drain_per_s", lane.drain_rate)
        .End('}');
  }
  json.End(']');
}

// The lanes of each model, the most urgent first.
using LanesByModel = absl::flat_hash_map<absl::string_view, std::vector<const LaneView*>>;

// The requests of higher classes of the model go first, then those ahead in its own class. Nullopt: nothing drains.
std::optional<double> ExpectedStart(const PageFacts& facts, const LanesByModel& lanes,
                                    const PageFacts::Waiting& waiting) {
  const std::optional<ModelId> model = facts.fleet->book.ModelByName(waiting.request.model);
  if (!model || !waiting.now || waiting.now->reason == WaitReason::kParked) return std::nullopt;
  const std::string& name = facts.fleet->book.fleet().models[model->value()].name;
  int64_t ahead = waiting.now->position;
  const auto found = lanes.find(name);
  if (found == lanes.end()) return std::nullopt;
  for (const LaneView* each : found->second) {
    const LaneView& lane = *each;
    if (lane.service_class == waiting.request.service_class) {
      if (lane.drain_rate <= 0) return std::nullopt;
      return std::round(100 * static_cast<double>(ahead + 1) / lane.drain_rate) / 100;
    }
    ahead += lane.waiting - lane.parked;
  }
  return std::nullopt;
}

JsonWriter& PutNames(const LiveRequest& request, JsonWriter& json) {
  return json.Put("request", request.request_id)
      .Put("endpoint", request.endpoint)
      .Put("model", request.model)
      .Put("class", request.service_class)
      .Put("tenant", request.tenant)
      .Put("age_s", request.age)
      .Put("prompt_tokens_estimate", request.prompt_estimate)
      .Put("max_tokens", request.max_output)
      .Put("attempts", request.attempts);
}

void PutWaiting(const PageFacts& facts, JsonWriter& json) {
  LanesByModel lanes;
  for (const LaneView& lane : facts.view.lanes) lanes[lane.model].push_back(&lane);
  json.Begin("waiting", '[');
  for (const PageFacts::Waiting& waiting : facts.waiting) {
    std::optional<WaitReason> reason = waiting.request.reason;
    if (waiting.now) reason = waiting.now->reason;
    json.Begin('{');
    PutNames(waiting.request, json)
        .Put("reason", reason ? TraitsOf(*reason).label : absl::string_view("unknown"))
        .Put("why", reason ? TraitsOf(*reason).text : absl::string_view("The policy tells no reason."))
        .Put("position", waiting.now ? std::optional(waiting.now->position + 1) : std::nullopt)
        .Put("expected_start_s", ExpectedStart(facts, lanes, waiting))
        .End('}');
  }
  json.End(']');
}

void PutRunning(const PageFacts& facts, JsonWriter& json) {
  json.Begin("running", '[');
  for (const LiveRequest& request : facts.running) {
    json.Begin('{');
    PutNames(request, json)
        .Put("replica", request.replica)
        .Put("prefill", request.prefill)
        .Put("waited_s", request.waited)
        .Put("expected_ttft_s", request.expected_ttft)
        .Put("peak_share", request.peak_share)
        .Put("output_tokens", request.output)
        .End('}');
  }
  json.End(']');
}

// A field that an entry lacks is left out, as in a line of the decision log.
template <class Value>
void PutGiven(const char* name, const std::optional<Value>& value, JsonWriter& json) {
  if (value) json.Put(name, *value);
}
void PutGiven(const char* name, const std::string& value, JsonWriter& json) {
  if (!value.empty()) json.Put(name, value);
}

void PutDecision(const RecentDecision& decision, JsonWriter& json) {
  const DecisionEntry& entry = decision.entry;
  json.Begin('{').Put("number", decision.number).Put("time", Milliseconds(decision.unix_seconds));
  json.Put("event", LabelOf(entry.kind));
  PutGiven("request", entry.request_id, json);
  PutGiven("endpoint", entry.endpoint, json);
  PutGiven("model", entry.model, json);
  PutGiven("class", entry.service_class, json);
  PutGiven("tenant", entry.tenant, json);
  PutGiven("client", entry.client, json);
  PutGiven("replica", entry.replica, json);
  PutGiven("reason", entry.reason, json);
  PutGiven("status", entry.status, json);
  PutGiven("prompt_tokens_estimate", entry.prompt_estimate, json);
  PutGiven("prompt_tokens", entry.prompt, json);
  PutGiven("max_tokens", entry.max_output, json);
  PutGiven("output_tokens", entry.output, json);
  PutGiven("position", entry.position, json);
  PutGiven("bound", entry.bound, json);
  PutGiven("value", entry.value, json);
  PutGiven("waited_s", entry.waited, json);
  PutGiven("expected_ttft_s", entry.expected_ttft, json);
  PutGiven("retry_after_s", entry.retry_after, json);
  PutGiven("total_s", entry.total, json);
  PutGiven("peak_share", entry.peak_share, json);
  PutGiven("message", entry.message, json);
  json.End('}');
}

struct TenantCounts {
  int64_t waiting = 0;
  int64_t running = 0;
};

template <class View>
class ByName {
 public:
  explicit ByName(const std::vector<View>& views) {
    for (const View& view : views) views_.try_emplace(view.name, &view);
  }
  // Null: there is none.
  const View* Find(const std::string& name) const {
    const auto found = views_.find(name);
    return found == views_.end() ? nullptr : found->second;
  }

 private:
  absl::flat_hash_map<absl::string_view, const View*> views_;
};

}  // namespace

std::string RequestsJson(const PageFacts& facts) {
  JsonWriter json;
  int64_t running = 0;
  for (const ReplicaView& replica : facts.view.replicas) running += replica.running;
  json.Begin('{').Put("sequence", facts.sequence).Put("time", Milliseconds(facts.unix_seconds));
  json.Put("waiting_total", facts.view.queued_requests).Put("running_total", running);
  PutLanes(facts.view, json);
  PutWaiting(facts, json);
  PutRunning(facts, json);
  json.Begin("decisions", '[');
  for (const RecentDecision& decision : facts.decisions) PutDecision(decision, json);
  json.End(']').End('}');
  return std::move(json).Take();
}

std::string TenantsJson(const PageFacts& facts) {
  const Config& config = facts.fleet->config();
  std::map<absl::string_view, TenantCounts> counts;
  for (const PageFacts::Waiting& waiting : facts.waiting) ++counts[waiting.request.tenant].waiting;
  for (const LiveRequest& request : facts.running) ++counts[request.tenant].running;
  const FleetView& fleet = *facts.fleet;
  JsonWriter json;
  json.Begin('{').Put("sequence", facts.sequence).Put("time", Milliseconds(facts.unix_seconds));
  json.Put("fairness", kFairnessNames[static_cast<size_t>(fleet.book.fleet().fairness.mode)]);
  json.Put("charged", kServiceNames[static_cast<size_t>(fleet.book.fleet().fairness.unit)]);
  double service = 0;
  double weights = 0;
  for (const ShareView& share : facts.view.shares) {
    service += share.service;
    weights += share.weight;
  }
  const ByName<ShareView> shares(facts.view.shares);
  const ByName<TenantView> limits(facts.view.tenants);
  json.Begin("tenants", '[');
  for (size_t i = 0; i < std::min(config.tenants.size(), kMostListed); ++i) {
    const TenantConfig& tenant = config.tenants[i];
    const ShareView* share = shares.Find(tenant.name);
    const TenantView* limit = limits.Find(tenant.name);
    json.Begin('{').Put("name", tenant.name).Put("weight", tenant.weight);
    json.Put("due_share", share != nullptr && weights > 0 ? std::optional(share->weight / weights) : std::nullopt);
    json.Put("share", share != nullptr && service > 0 ? std::optional(share->service / service) : std::nullopt);
    json.Put("lead", share != nullptr ? std::optional(share->ahead) : std::nullopt);
    json.Put("tokens_per_minute", tenant.tokens_per_minute);
    json.Put("available_tokens", limit != nullptr ? std::optional(limit->available) : std::nullopt);
    json.Put("max_concurrent", tenant.max_concurrent);
    json.Put("waiting", counts[tenant.name].waiting).Put("running", counts[tenant.name].running).End('}');
  }
  json.End(']').Put("tenants_total", config.tenants.size()).End('}');
  return std::move(json).Take();
}

}  // namespace penstock
