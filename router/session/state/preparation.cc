#include "router/session/state/preparation.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/openai/request/header_rules.h"
#include "router/openai/request/limit_rules.h"
#include "router/openai/request/prompt_hashes.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/rules/receipt.h"
#include "router/session/state/stored_response.h"

namespace penstock {
namespace {

constexpr absl::string_view kClassHeader = "x-penstock-class";
constexpr absl::string_view kStorageHeader = "x-penstock-storage";
constexpr absl::string_view kSessionHeader = "x-session-id";

std::optional<ApiError> FindModel(const FleetView& fleet, PreparedRequest& prepared) {
  const std::string& name = prepared.facts.model;
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  if (model) {
    prepared.model = *model;
    return std::nullopt;
  }
  // While an engine has not named its models yet, an unknown name may be one of them.
  const bool wait = fleet.book.unheard().decisive;
  const Refusal reason = wait ? Refusal::kNoReplica : Refusal::kUnknownModel;
  return FromRefusal(Refuse{RequestId(), reason, wait ? Duration::Seconds(1) : Duration(), 0, 0}, name);
}

// While no engine of the model is recognised, any limit may count.
Tokens LimitOf(Endpoint endpoint, const PreparedRequest& prepared, const FleetView& fleet) {
  const GivenLimits& given = prepared.facts.limits;
  if (given.empty()) return Tokens(0);
  const ModelAccess* model = fleet.AccessOf(prepared.model);
  if (model != nullptr && !model->output_limits.empty()) return MostOutput(given, endpoint, model->output_limits);
  const OutputLimits all = AllOutputLimits();
  return MostOutput(given, endpoint, absl::MakeConstSpan(&all, 1));
}

std::optional<ApiError> CheckLimits(Endpoint endpoint, const PreparedRequest& prepared, const FleetView& fleet) {
  const ModelAccess* model = fleet.AccessOf(prepared.model);
  if (model == nullptr) return std::nullopt;
  return CheckUnlimited(prepared.facts.limits, endpoint, model->output_limits);
}

std::vector<uint64_t> PrefixOf(absl::string_view text, const RequestFacts& facts, std::string_view model) {
  const std::string_view body(text.data(), text.size());
  const std::string_view prompt = body.substr(facts.prompt_at->begin, facts.prompt_at->size());
  if (facts.before_prompt.empty()) return PrefixHashes(prompt, model);
  std::string whole;
  const auto add = [&whole](std::string_view part) { whole.append(part.substr(0, kMostNamedBytes - whole.size())); };
  for (const JsonSpan& span : facts.before_prompt) add(body.substr(span.begin, span.size()));
  add(prompt);
  return PrefixHashes(whole, model);
}

// While an engine of the model is not recognised, it may be the one.
std::optional<ApiError> CheckEndpoint(const SessionRequest& request, const FleetView& fleet,
                                      const PreparedRequest& prepared) {
  const ModelAccess* model = fleet.AccessOf(prepared.model);
  const bool known = model != nullptr && model->all_known && model->endpoints != EndpointSet{};
  // Where no engine counts tokens, the router estimates them.
  const bool always = IsRoute(request.endpoint) || request.endpoint == Endpoint::kCountTokens;
  if (!known || always || model->endpoints.Has(request.endpoint)) return std::nullopt;
  return NoEngineServes(prepared.facts.model, request.path());
}

std::optional<ApiError> PickClass(const SessionRequest& request, const FleetView& fleet, PreparedRequest& prepared) {
  const absl::string_view named = request.inside != nullptr ? absl::string_view(request.inside->service_class)
                                                            : FindHeader(*request.headers, kClassHeader);
  const ClassNames names{named, prepared.facts.service_tier, prepared.caller.service_class,
                         ClassOfModel(fleet.config(), ModelNameIn(fleet, prepared.facts.model))};
  auto chosen = ChooseClass(fleet.config().classes, names, prepared.caller.max_class);
  if (ApiError* bad = std::get_if<ApiError>(&chosen)) return std::move(*bad);
  prepared.service_class = std::get<ClassChoice>(std::move(chosen));
  return std::nullopt;
}

std::optional<ApiError> ReadStorageNeed(const SessionRequest& request, PreparedRequest& prepared) {
  const absl::string_view need = request.inside != nullptr ? "" : FindHeader(*request.headers, kStorageHeader);
  if (need.empty()) return std::nullopt;
  constexpr std::array<std::pair<absl::string_view, StorageNeed>, 3> kNeeds = {
      {{"none", StorageNeed::kNone}, {"some", StorageNeed::kSome}, {"heavy", StorageNeed::kHeavy}}};
  for (const auto& [name, value] : kNeeds) {
    if (need != name) continue;
    prepared.storage = value;
    return std::nullopt;
  }
  return MakeError(ErrorName::kInvalidValue, "The need of storage is none, some or heavy.",
                   std::string(kStorageHeader));
}

// While an engine of the model is not recognised, it may continue a completion.
bool ContinuesByPrompt(Endpoint endpoint, const ModelAccess* model) {
  const bool unknown = model == nullptr || !model->all_known;
  return (unknown && endpoint == Endpoint::kCompletions) || (model != nullptr && model->continues.Has(endpoint));
}

// The router asks for a stream, where it could continue a cut answer, and gathers it.
void StreamInside(Endpoint endpoint, const FleetView& fleet, PreparedRequest& prepared) {
  RequestFacts& facts = prepared.facts;
  // The default limit of an engine would hold anew for the rest of a cut completion.
  const bool bounded = endpoint != Endpoint::kCompletions || !facts.limits.empty();
  facts.stream_inside = bounded && facts.Continuable(endpoint) && facts.Reassemblable(endpoint) &&
                        ContinuesByPrompt(endpoint, fleet.AccessOf(prepared.model));
  facts.stream = facts.asks_usage = facts.stream_inside;
}

std::optional<ApiError> PrepareInside(Endpoint endpoint, const FleetView& fleet, PreparedRequest& prepared) {
  if (prepared.facts.stream) {
    return MakeError(ErrorName::kUnsupportedField, "`stream` is not supported in a batch; leave it out.", "stream");
  }
  StreamInside(endpoint, fleet, prepared);
  return std::nullopt;
}

// A running request of an evictable class can make room where its answer is a stream that can be continued.
void GatherEvictable(Endpoint endpoint, const FleetView& fleet, PreparedRequest& prepared) {
  RequestFacts& facts = prepared.facts;
  const bool evictable = fleet.config().classes[prepared.service_class.position].evictable;
  if (evictable && !facts.stream) StreamInside(endpoint, fleet, prepared);
}

}  // namespace

absl::string_view ModelNameIn(const FleetView& fleet, absl::string_view name) {
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  return model ? absl::string_view(fleet.book.fleet().models[model->value()].name) : name;
}

std::optional<ApiError> CheckPath(const SessionRequest& request, absl::string_view pseudonym) {
  if (!PassedBefore(*request.headers, pseudonym)) return std::nullopt;
  return MakeError(ErrorName::kLoop, "The request passed this router before: a replica of the fleet sends it back.");
}

std::optional<ApiError> CheckSteering(const SessionRequest& request) {
  if (request.inside != nullptr) return std::nullopt;
  return Contradiction(*request.headers, {kClassHeader, kStorageHeader, kSessionHeader, kReceiptHeader});
}

std::optional<ApiError> CheckCaller(const SessionRequest& request, const FleetView& fleet, PreparedRequest& prepared) {
  if (request.inside != nullptr) {
    prepared.caller = request.inside->caller;
    return std::nullopt;
  }
  auto caller = fleet.tenants.Identify(*request.headers);
  if (ApiError* denied = std::get_if<ApiError>(&caller)) return std::move(*denied);
  prepared.caller = std::get<Caller>(std::move(caller));
  return std::nullopt;
}

std::optional<ApiError> CheckKey(const SessionRequest& request, const FleetView& fleet, KeyCounts& keys,
                                 PreparedRequest& prepared) {
  const std::optional<int64_t> most = fleet.config().limits.max_requests_per_key;
  const absl::string_view key = most ? ApiKeyOf(*request.headers) : absl::string_view();
  if (key.empty()) return std::nullopt;
  prepared.place_of_key = keys.Enter(TenantIdOf(key, NamedBy::kKey), *most);
  if (prepared.place_of_key) return std::nullopt;
  return MakeError(ErrorName::kTooManyOfKey, absl::StrCat("The limit of ", *most, " requests of one API key at a time ",
                                                          "is reached. Retry when one has ended."));
}

std::optional<ApiError> CheckBody(const SessionRequest& request, const FleetView& fleet,
                                  std::variant<RequestFacts, ApiError> scanned, PreparedRequest& prepared) {
  if (ApiError* bad = std::get_if<ApiError>(&scanned)) return std::move(*bad);
  prepared.facts = std::get<RequestFacts>(std::move(scanned));
  // Nobody knows the effects of a configured path.
  if (request.route != nullptr) prepared.facts.has_effects = request.method != "GET";
  if (std::optional<ApiError> bad = PickClass(request, fleet, prepared)) return bad;
  if (std::optional<ApiError> bad = ReadStorageNeed(request, prepared)) return bad;
  if (std::optional<ApiError> unknown = FindModel(fleet, prepared)) return unknown;
  if (std::optional<ApiError> missing = CheckEndpoint(request, fleet, prepared)) return missing;
  if (std::optional<ApiError> limit = CheckLimits(request.endpoint, prepared, fleet)) return limit;
  prepared.facts.max_output = LimitOf(request.endpoint, prepared, fleet);
  if (std::optional<ApiError> stored = CheckContinuation(request, fleet, prepared)) return stored;
  if (request.inside != nullptr) return PrepareInside(request.endpoint, fleet, prepared);
  GatherEvictable(request.endpoint, fleet, prepared);
  return std::nullopt;
}

std::optional<ApiError> CheckStoredRequest(const SessionRequest& request, const FleetView& fleet,
                                           PreparedRequest& prepared) {
  if (std::optional<ApiError> unknown = CheckStored(request, fleet, prepared)) return unknown;
  return PickClass(request, fleet, prepared);
}

InputCounts InputOf(const RequestFacts& facts) {
  if (!facts.media) return {facts.text, MediaCounts(), MediaFamily::kOther};
  return {facts.text, *facts.media, FamilyOf(facts.model)};
}

bool MayBeSilent(Endpoint endpoint, const RequestFacts& facts) {
  if (IsQuick(endpoint) || endpoint == Endpoint::kRealtime) return false;
  return PassesAnswer(endpoint) || facts.media;
}

int64_t SequencesOf(Endpoint endpoint, const RequestFacts& facts) {
  return facts.n * (Generates(endpoint) ? facts.prompts : 1);
}

RequestArrived ArrivalOf(const SessionRequest& request, const PreparedRequest& prepared, const FleetView& fleet) {
  const RequestFacts& facts = prepared.facts;
  const ModelAccess* model = fleet.AccessOf(prepared.model);
  const bool all_stream = model != nullptr && model->streams_everything;
  RequestArrived arrived;
  arrived.model = prepared.model;
  arrived.service_class = fleet.book.ClassByName(prepared.service_class.name).value_or(fleet.book.default_class());
  arrived.tenant = prepared.caller.tenant;
  arrived.max_output = facts.max_output;
  arrived.shape = facts.shape;
  const absl::string_view named = request.inside != nullptr ? "" : FindHeader(*request.headers, kSessionHeader);
  arrived.session = SessionKey(named, facts.session, arrived.tenant, arrived.model);
  arrived.sequences = static_cast<int>(SequencesOf(request.endpoint, facts));
  arrived.embedding = !Generates(request.endpoint);
  arrived.observed = facts.stream || (all_stream && facts.Reassemblable(request.endpoint));
  arrived.regenerable = !facts.has_effects && (!facts.stream || facts.Continuable(request.endpoint));
  arrived.continues = facts.stream && ContinuesByPrompt(request.endpoint, model) && facts.Continuable(request.endpoint);
  arrived.whole = !facts.stream || facts.stream_inside;
  if (facts.prompt_is_text && facts.prompt_at) {
    arrived.prefix = PrefixOf(request.body, facts, fleet.book.fleet().models[prepared.model.value()].name);
  }
  arrived.divisible = facts.Divisible(request.endpoint);
  arrived.home = prepared.home;
  arrived.storage = prepared.storage;
  arrived.body = Bytes(static_cast<int64_t>(request.body.size()));
  return arrived;
}

}  // namespace penstock
