#include "router/session/state/stored_response.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/responses/response_id.h"

namespace penstock {
namespace {

constexpr size_t kMostShown = 64;

std::string Shown(absl::string_view id) {
  return id.size() <= kMostShown ? std::string(id) : absl::StrCat(id.substr(0, kMostShown), "...");
}

ApiError Unknown(absl::string_view id, absl::string_view param) {
  return MakeError(ErrorName::kUnknownResponse,
                   absl::StrCat("Response with id '", Shown(id),
                                "' not found: it is not stored, it is another caller's, or its engine keeps no "
                                "responses by the ids of this router."),
                   param);
}

std::variant<ReplicaId, ApiError> HomeOf(const FleetView& fleet, TenantId tenant, absl::string_view id,
                                         absl::string_view param) {
  const std::optional<ReplicaMark> mark = ReplicaIn(id, tenant);
  if (!mark) return Unknown(id, param);
  const size_t count = std::min(fleet.book.fleet().replicas.size(), fleet.engines.size());
  for (size_t i = 0; i < count; ++i) {
    const ReplicaId replica(static_cast<uint32_t>(i));
    if (!fleet.book.removed(replica) && MarkOf(fleet.engines[i].name) == *mark) return replica;
  }
  // Discovery may not have found the replica yet.
  if (fleet.book.AwaitsDiscovery()) {
    return FromRefusal(Refuse{RequestId(), Refusal::kNoReplica, Duration::Seconds(1), 0, 0}, "");
  }
  return MakeError(
      ErrorName::kLostResponse,
      absl::StrCat("The replica that kept response '", Shown(id), "' has left the fleet, and the response with it."),
      param);
}

bool OneServer(const FleetView& fleet, ModelId model) {
  const std::vector<ReplicaSpec>& replicas = fleet.book.fleet().replicas;
  return std::count_if(replicas.begin(), replicas.end(),
                       [&](const ReplicaSpec& replica) { return !replica.removed && replica.Serves(model); }) <= 1;
}

}  // namespace

std::optional<ApiError> CheckContinuation(const SessionRequest& request, const FleetView& fleet,
                                          PreparedRequest& prepared) {
  const RequestFacts& facts = prepared.facts;
  const ModelAccess* model = fleet.AccessOf(prepared.model);
  const bool names = model != nullptr && model->names_responses;
  if (facts.background && !names && model != nullptr && model->all_known) {
    return MakeError(ErrorName::kUnsupportedField,
                     absl::StrCat("`background` is not supported: no engine of `", facts.model,
                                  "` keeps responses under the ids of this router (vLLM and SGLang do)."),
                     "background");
  }
  if (facts.background && !request.may_detach) {
    return MakeError(ErrorName::kUnsupportedField,
                     "`background` is not supported here: neither in a batch, nor under a key that is written with "
                     "escapes.",
                     "background");
  }
  if (!facts.continues_response) return std::nullopt;
  const absl::string_view id = facts.previous_response;
  // An id of a router is checked against its tenant even while no engine is known.
  if (IsResponseId(id) || (names && !id.empty() && !OneServer(fleet, prepared.model))) {
    auto home = HomeOf(fleet, prepared.caller.tenant, id, "previous_response_id");
    if (ApiError* error = std::get_if<ApiError>(&home)) return std::move(*error);
    prepared.home = std::get<ReplicaId>(home);
    if (fleet.book.fleet().replicas[prepared.home->value()].Serves(prepared.model)) return std::nullopt;
    return MakeError(ErrorName::kInvalidValue,
                     absl::StrCat("The engine that keeps the previous response does not serve `", facts.model, "`."),
                     "previous_response_id");
  }
  if (OneServer(fleet, prepared.model)) return std::nullopt;
  return MakeError(ErrorName::kUnsupportedField,
                   "`conversation`, and `previous_response_id` at engines that do not keep responses under ids of this "
                   "router, are not supported where several replicas serve the model. Send the whole conversation as "
                   "`input`, with `store: false`.",
                   id.empty() ? "conversation" : "previous_response_id");
}

std::optional<ApiError> CheckStored(const SessionRequest& request, const FleetView& fleet, PreparedRequest& prepared) {
  auto home = HomeOf(fleet, prepared.caller.tenant, request.stored_id, "");
  if (ApiError* error = std::get_if<ApiError>(&home)) return std::move(*error);
  prepared.home = std::get<ReplicaId>(home);
  prepared.facts.has_effects = request.method != "GET" && request.method != "HEAD";
  const std::vector<ModelId>& models = fleet.book.fleet().replicas[prepared.home->value()].models;
  if (!models.empty()) {
    prepared.model = models.front();
    prepared.facts.model = fleet.book.fleet().models[prepared.model.value()].name;
  }
  return std::nullopt;
}

}  // namespace penstock
