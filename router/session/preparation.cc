#include "router/session/preparation.h"

#include <utility>
#include <variant>

#include "router/openai/request/prefix_hashes.h"

namespace penstock {
namespace {

std::optional<ApiError> FindModel(const FleetView& fleet, PreparedRequest& prepared) {
  const std::string& name = prepared.facts.model;
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  if (model) {
    prepared.model = *model;
    return std::nullopt;
  }
  // While an engine has not named its models yet, an unknown name may be one of them.
  const bool wait = fleet.book.AwaitsDiscovery();
  const Refusal reason = wait ? Refusal::kNoReplica : Refusal::kUnknownModel;
  return FromRefusal(Refuse{RequestId(), reason, wait ? Duration::Seconds(1) : Duration(), 0, 0}, name);
}

}  // namespace

std::optional<ApiError> Prepare(const SessionRequest& request, const FleetView& fleet, PreparedRequest& prepared) {
  auto caller = fleet.tenants.Identify(*request.headers);
  if (ApiError* denied = std::get_if<ApiError>(&caller)) return std::move(*denied);
  prepared.caller = std::get<Caller>(std::move(caller));
  auto scanned = ScanRequest(request.endpoint, request.body);
  if (ApiError* bad = std::get_if<ApiError>(&scanned)) return std::move(*bad);
  prepared.facts = std::get<RequestFacts>(std::move(scanned));
  auto chosen = ChooseClass(fleet.config().classes, FindHeader(*request.headers, "x-penstock-class"),
                            prepared.facts.service_tier, prepared.caller.max_class);
  if (ApiError* bad = std::get_if<ApiError>(&chosen)) return std::move(*bad);
  prepared.service_class = std::get<ClassChoice>(std::move(chosen));
  return FindModel(fleet, prepared);
}

bool Generates(Endpoint endpoint) { return endpoint != Endpoint::kEmbeddings && endpoint != Endpoint::kRerank; }

int64_t SequencesOf(Endpoint endpoint, const RequestFacts& facts) {
  return facts.n * (Generates(endpoint) ? facts.prompts : 1);
}

RequestArrived ArrivalOf(const SessionRequest& request, const PreparedRequest& prepared, const FleetView& fleet) {
  const RequestFacts& facts = prepared.facts;
  const size_t model = prepared.model.value();
  const bool all_stream = model < fleet.streams_everything.size() && fleet.streams_everything[model];
  RequestArrived arrived;
  arrived.model = prepared.model;
  arrived.service_class = fleet.book.ClassByName(prepared.service_class.name).value_or(fleet.book.default_class());
  arrived.tenant = prepared.caller.tenant;
  arrived.max_output = facts.max_output;
  arrived.sequences = static_cast<int>(SequencesOf(request.endpoint, facts));
  arrived.embedding = !Generates(request.endpoint);
  arrived.observed = facts.stream || (all_stream && facts.Reassemblable(request.endpoint));
  arrived.regenerable = !facts.stream || facts.Continuable(request.endpoint);
  if (facts.prompt_is_text && facts.prompt_at) {
    const std::string_view body(request.body.data(), request.body.size());
    arrived.prefix = PrefixHashes(body.substr(facts.prompt_at->begin, facts.prompt_at->size()), prepared.model);
  }
  arrived.body = Bytes(static_cast<int64_t>(request.body.size()));
  return arrived;
}

}  // namespace penstock
