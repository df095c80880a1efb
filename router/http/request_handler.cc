#include "router/http/request_handler.h"

#include <utility>
#include <variant>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "router/http/answer.h"
#include "router/http/batches/batch_handler.h"
#include "router/http/body_decoding.h"
#include "router/http/files/files_handler.h"
#include "router/http/page_handler.h"
#include "router/http/pages/metrics_page.h"
#include "router/http/peer/forwarded_for.h"
#include "router/openai/request/body_decoder.h"
#include "router/openai/route/routes.h"
#include "router/session/session.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kJson = "application/json";
const HeaderList kNoHeaders;

// The base and the path of an adapter.
void AddParent(const FleetView& fleet, absl::string_view name, std::string* json) {
  const std::optional<ModelId> model = fleet.book.ModelByName(name);
  const std::optional<ModelId> base = model ? fleet.book.fleet().models[model->value()].base : std::nullopt;
  if (!base) return;
  const std::string root = fleet.book.RootOf(*model);
  absl::StrAppend(json, ",\"root\":", JsonQuote(root.empty() ? std::string(name) : root),
                  ",\"parent\":", JsonQuote(fleet.book.fleet().models[base->value()].name));
}

std::string ModelJson(const FleetView& fleet, absl::string_view name) {
  std::string json =
      absl::StrCat("{\"id\":", JsonQuote(name), ",\"object\":\"model\",\"created\":0,\"owned_by\":\"penstock\"");
  if (const auto model = fleet.book.ModelByName(name); model && fleet.book.MaxContext(*model) > Tokens(0)) {
    absl::StrAppend(&json, ",\"max_model_len\":", fleet.book.MaxContext(*model).value());
  }
  AddParent(fleet, name, &json);
  return json + "}";
}

std::string ModelsJson(const FleetView& fleet) {
  const std::vector<std::string> names = fleet.book.ModelNames();
  return absl::StrCat("{\"object\":\"list\",\"data\":[",
                      absl::StrJoin(names, ",",
                                    [&fleet](std::string* out, const std::string& name) {
                                      absl::StrAppend(out, ModelJson(fleet, name));
                                    }),
                      "]}");
}

ApiError NotFound(const ClientRequest& request) {
  return MakeError(ErrorName::kNotFound, absl::StrCat("Penstock does not route ", request.target.substr(0, 200), "."));
}

ApiError StoredResponse() {
  return MakeError(ErrorName::kStoredResponse,
                   "The router does not know the engine that stored this response. Send the whole conversation as "
                   "`input`, with `store: false`.");
}

ApiError WrongMethod(const ClientRequest& request, absl::string_view allow) {
  ApiError error = MakeError(ErrorName::kWrongMethod, absl::StrCat("The method ", request.method.substr(0, 32),
                                                                   " is not allowed here; allowed: ", allow, "."));
  error.allow = std::string(allow);
  return error;
}

// Clients that say nothing are taken to send JSON.
bool IsJson(absl::string_view content_type) {
  const absl::string_view type = absl::StripTrailingAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  return type.empty() || absl::EqualsIgnoreCase(type, kJson) || absl::EndsWithIgnoreCase(type, "+json");
}

ApiError WrongContentType(absl::string_view content_type) {
  return MakeError(ErrorName::kContentType,
                   absl::StrCat("The content type must be application/json, not ", content_type.substr(0, 100), "."));
}

ApiError UnknownModel(absl::string_view name) {
  return FromRefusal(Refuse{RequestId(), Refusal::kUnknownModel, Duration(), 0, 0}, name);
}

asio::awaitable<void> AnswerError(EventLoop& loop, Answer& answer, const ApiError& error) {
  if (error.bad_input) loop.edge().telemetry->OnBadInput(*error.bad_input);
  co_await answer.Error(error);
}

// Models are as private as generating is: they need a key where keys are configured.
asio::awaitable<void> AnswerModels(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                   Answer& answer) {
  const std::shared_ptr<const FleetView> fleet = loop.fleet();
  const auto caller = fleet->tenants.Identify(request.headers);
  if (const ApiError* denied = std::get_if<ApiError>(&caller)) {
    co_await answer.Error(*denied);
  } else if (match.route == Route::kModels) {
    const std::string body = ModelsJson(*fleet);
    co_await SendWhole(answer, http_status::kOk, kJson, kNoHeaders, body);
  } else if (fleet->book.ModelByName(match.model)) {
    const std::string body = ModelJson(*fleet, match.model);
    co_await SendWhole(answer, http_status::kOk, kJson, kNoHeaders, body);
  } else {
    const ApiError unknown = UnknownModel(match.model);
    co_await answer.Error(unknown);
  }
}

asio::awaitable<void> AnswerReady(Edge& edge, Answer& answer) {
  const bool draining = edge.draining.load(std::memory_order_relaxed);
  const bool ready = !draining && edge.replicas_up.load(std::memory_order_relaxed) > 0;
  const absl::string_view body = ready      ? "{\"status\":\"ready\"}"
                                 : draining ? "{\"status\":\"draining\"}"
                                            : "{\"status\":\"no replica is up\"}";
  co_await SendWhole(answer, ready ? http_status::kOk : http_status::kServiceUnavailable, kJson, kNoHeaders, body);
}

asio::awaitable<void> AnswerVersion(Answer& answer) {
  constexpr absl::string_view kBody = "{\"version\":\"" PENSTOCK_VERSION "\"}";
  co_await SendWhole(answer, http_status::kOk, kJson, kNoHeaders, kBody);
}

asio::awaitable<void> AnswerMetrics(EventLoop& loop, Answer& answer) {
  Edge& edge = loop.edge();
  const std::string body = MetricsPage(edge, loop.fleet()->config().limits);
  co_await SendWhole(answer, http_status::kOk, "text/plain; version=0.0.4; charset=utf-8", kNoHeaders, body);
}

RouteMatch FindRoute(const EventLoop& loop, const ClientConnection& client, const RequestHead& head) {
  RouteMatch match = MatchRoute(head.method, head.target);
  if (loop.edge().admin_apart && client.admin() != match.admin) match.route = Route::kNotFound;
  return match;
}

asio::ip::address AddressOfClient(EventLoop& loop, const ClientConnection& client, const HeaderList& headers) {
  return ClientAddress(loop.fleet()->proxies, client.peer().address, headers);
}

asio::awaitable<void> RefuseContentType(EventLoop& loop, const ClientRequest& request, Answer& answer) {
  const ApiError error = WrongContentType(FindHeader(request.headers, "content-type"));
  co_await AnswerError(loop, answer, error);
}

asio::awaitable<void> AnswerNothingThere(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                         Answer& answer) {
  const ApiError error = match.route == Route::kStoredResponse ? StoredResponse()
                         : match.route == Route::kWrongMethod  ? WrongMethod(request, match.allow)
                                                               : NotFound(request);
  co_await AnswerError(loop, answer, error);
}

asio::awaitable<void> AnswerFull(Answer& answer) {
  const ApiError full = TooManyConnections();
  co_await answer.Error(full);
}

asio::awaitable<void> Generate(EventLoop& loop, ClientConnection& client, ClientRequest& request, Endpoint endpoint,
                               Answer& answer) {
  {
    Session session(loop, answer,
                    SessionRequest{endpoint, &request.headers, request.body.view(), answer.request_id(),
                                   AddressOfClient(loop, client, request.headers), client.peer().account()});
    co_await session.Run();
  }
  client.Reuse(std::move(request.body));
}

asio::awaitable<void> GenerateDecoded(EventLoop& loop, ClientConnection& client, ClientRequest& request,
                                      Endpoint endpoint, Answer& answer) {
  const std::optional<uint64_t> caller = CallerOfBody(loop, client, request);
  const absl::string_view coding = FindHeader(request.headers, "content-encoding");
  std::optional<ApiError> error;
  if (CodingOf(coding) == ContentCoding::kUnknown) {
    error = UnknownEncoding(coding);
  } else if (caller) {  // The session refuses a caller without a key before it reads the body.
    error = co_await DecodeBody(loop, *caller, request);
  }
  if (error) {
    co_await AnswerError(loop, answer, *error);
  } else {
    co_await Generate(loop, client, request, endpoint, answer);
  }
}

asio::awaitable<void> AnswerRoute(EventLoop& loop, ClientConnection& client, ClientRequest& request,
                                  const RouteMatch& match, Answer& answer) {
  switch (match.route) {
    case Route::kGenerate:
      co_await RefuseContentType(loop, request, answer);
      break;
    case Route::kModels:
    case Route::kModel:
      co_await AnswerModels(loop, request, match, answer);
      break;
    case Route::kHealth:
      co_await SendWhole(answer, http_status::kOk, kJson, kNoHeaders, "{\"status\":\"ok\"}");
      break;
    case Route::kVersion:
      co_await AnswerVersion(answer);
      break;
    case Route::kReady:
    case Route::kEngineHealth:
      co_await AnswerReady(loop.edge(), answer);
      break;
    case Route::kMetrics:
      co_await AnswerMetrics(loop, answer);
      break;
    case Route::kBatches:
    case Route::kBatch:
    case Route::kBatchCancel:
      co_await AnswerBatches(loop, request, match, answer);
      break;
    case Route::kFiles:
    case Route::kFile:
    case Route::kFileContent:
      co_await AnswerFiles(loop, request, match, client.upload(), answer);
      break;
    case Route::kPage:
      co_await AnswerPage(loop, client, request, match.page, answer);
      break;
    case Route::kNotFound:
    case Route::kStoredResponse:
    case Route::kWrongMethod:
      co_await AnswerNothingThere(loop, request, match, answer);
      break;
  }
}

}  // namespace

std::optional<uint64_t> CallerOfBody(EventLoop& loop, const ClientConnection& client, const RequestHead& head) {
  const RouteMatch match = FindRoute(loop, client, head);
  const absl::string_view content_type = FindHeader(head.headers, "content-type");
  const bool upload = match.route == Route::kFiles && head.method == "POST";
  const bool json = match.route == Route::kGenerate || TakesBatchBody(match, head.method);
  const bool takes_body = upload ? TakesUpload(loop, match, content_type) : json && IsJson(content_type);
  if (client.spare() || !takes_body) return std::nullopt;
  if (CodingOf(FindHeader(head.headers, "content-encoding")) == ContentCoding::kUnknown) return std::nullopt;
  const auto caller = loop.fleet()->tenants.Identify(head.headers);
  if (std::holds_alternative<ApiError>(caller)) return std::nullopt;
  const TenantId tenant = std::get<Caller>(caller).tenant;
  return tenant == TenantId() ? AccountOf(AddressOfClient(loop, client, head.headers)) : absl::HashOf(tenant);
}

bool TakesPieces(const RequestHead& head) {
  return head.method == "POST" && MatchRoute(head.method, head.target).route == Route::kFiles;
}

size_t LargestBody(const EventLoop& loop, const RequestHead& head) {
  const Config& config = loop.fleet()->config();
  const bool upload = loop.edge().jobs != nullptr && TakesPieces(head);
  return static_cast<size_t>(upload ? config.state.max_file.value() + kRoomOfForm : config.limits.max_body.value());
}

// The frame lives as long as the request: what only some requests need is in coroutines of its own.
asio::awaitable<bool> HandleRequest(EventLoop& loop, ClientConnection& client, ClientRequest& request) {
  std::string id = ClientRequestId(request.headers);
  Answer answer(loop, client, request, id.empty() ? NewRequestId() : std::move(id));
  const RouteMatch match = FindRoute(loop, client, request);
  if (client.spare() && !match.admin) {
    co_await AnswerFull(answer);
    co_return false;
  }
  if (match.route == Route::kGenerate && IsJson(FindHeader(request.headers, "content-type"))) {
    if (FindHeader(request.headers, "content-encoding").empty()) {
      co_await Generate(loop, client, request, match.endpoint, answer);
    } else {
      co_await GenerateDecoded(loop, client, request, match.endpoint, answer);
    }
  } else {
    co_await AnswerRoute(loop, client, request, match, answer);
  }
  co_return answer.CanTakeAnother();
}

}  // namespace penstock
