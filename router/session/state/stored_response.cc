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

// The address counts more than the name. A reload may give an engine another name, and an engine at another address
// hardly has the memory of the one before. Ranks of an engine and sleeping models share an address.
enum Fit : int { kNoFit = 0, kByName = 1, kByAddress = 2, kServesModel = 4 };

int FitOf(const FleetView& fleet, ReplicaId replica, const ReplicaMarks& wanted, std::optional<ModelId> model) {
  if (fleet.book.removed(replica)) return kNoFit;
  const ReplicaMarks marks = MarksOf(fleet.engines[replica.value()]);
  const int fit =
      (marks.address == wanted.address ? kByAddress : kNoFit) | (marks.name == wanted.name ? kByName : kNoFit);
  const bool serves = model && fleet.book.fleet().replicas[replica.value()].Serves(*model);
  return (fit & kByAddress) != 0 && serves ? fit | kServesModel : fit;
}

// `model`: the one that must go on from the response, if any.
std::variant<ReplicaId, ApiError> HomeOf(const FleetView& fleet, TenantId tenant, absl::string_view id,
                                         absl::string_view param, std::optional<ModelId> model) {
  const std::optional<ReplicaMarks> marks = ReplicaIn(id, tenant);
  if (!marks) return Unknown(id, param);
  const size_t count = std::min(fleet.book.fleet().replicas.size(), fleet.engines.size());
  int best = kNoFit;
  ReplicaId home;
  for (uint32_t i = 0; i < count; ++i) {
    const int fit = FitOf(fleet, ReplicaId(i), *marks, model);
    if (fit > best) home = ReplicaId(i);
    best = std::max(best, fit);
  }
  if (best != kNoFit) return home;
  // Discovery may not have found the replica yet.
  if (fleet.book.unheard().decisive) {
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

ReplicaMarks MarksOf(const EngineAccess& engine) {
  if (!engine.address) return MarksOf(engine.name, "");
  const UpstreamAddress& address = *engine.address;
  return MarksOf(engine.name, absl::StrCat(address.tls ? "https://" : "http://", HostOf(address), address.base_path,
                                           " ", address.socket_path));
}

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
    auto home = HomeOf(fleet, prepared.caller.tenant, id, "previous_response_id", prepared.model);
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
  auto home = HomeOf(fleet, prepared.caller.tenant, request.stored_id, "", std::nullopt);
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
