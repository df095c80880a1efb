#include "router/http/request_handler.h"

#include <functional>
#include <utility>
#include <variant>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "router/http/access_line.h"
#include "router/http/batches/batch_handler.h"
#include "router/http/body_decoding.h"
#include "router/http/coding/gzip_client.h"
#include "router/http/coding/gzip_encoder.h"
#include "router/http/files/files_handler.h"
#include "router/http/generation.h"
#include "router/http/origin/cross_origin.h"
#include "router/http/page_handler.h"
#include "router/http/pages/made_aside.h"
#include "router/http/pages/metrics_desk.h"
#include "router/http/pages/model_desk.h"
#include "router/live/aside/run_aside.h"
#include "router/openai/passed/passed_route.h"
#include "router/openai/request/body_decoder.h"
#include "router/openai/route/routes.h"
#include "router/session/state/refusal_notes.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kJson = "application/json";
const HeaderList kNoHeaders;

ApiError NotFound(const ClientRequest& request) {
  return MakeError(ErrorName::kNotFound, absl::StrCat("Penstock does not route ", request.target.substr(0, 200), "."));
}

ApiError WrongMethod(const ClientRequest& request, absl::string_view allow) {
  ApiError error = MakeError(ErrorName::kWrongMethod, absl::StrCat("The method ", request.method.substr(0, 32),
                                                                   " is not allowed here; allowed: ", allow, "."));
  error.allow = std::string(allow);
  return error;
}

ApiError WrongContentType(Endpoint endpoint, absl::string_view content_type) {
  const absl::string_view wanted = TraitsOf(endpoint).form ? "multipart/form-data" : kJson;
  return MakeError(ErrorName::kContentType,
                   absl::StrCat("The content type must be ", wanted, ", not ", content_type.substr(0, 100), "."));
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
  const auto caller = loop.fleet()->tenants.Identify(request.headers);
  if (const ApiError* denied = std::get_if<ApiError>(&caller)) {
    co_await answer.Error(*denied);
    co_return;
  }
  const ModelDesk::List list = co_await ModelsNow(loop, answer);
  if (list == nullptr) co_return;
  const std::string one = match.route == Route::kModel ? list->OneJson(match.model) : "";
  if (match.route == Route::kModel && one.empty()) {
    const ApiError unknown = UnknownModel(match.model);
    co_await answer.Error(unknown);
  } else {
    co_await SendWhole(answer, http_status::kOk, kJson, kNoHeaders, one.empty() ? list->json() : one);
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

// Compressed beside the loop. A text that many scrapers share is compressed once.
asio::awaitable<bool> Compress(EventLoop& loop, const MetricsDesk::Text& text) {
  auto work = [text] { return !text->Coded(Gzipped).empty(); };
  co_return co_await RunAside(loop.io(), text->plain().size(), std::move(work));
}

asio::awaitable<void> AnswerMetrics(EventLoop& loop, const ClientRequest& request, Answer& answer) {
  MadeAside<const MetricsText> made(loop, answer);
  const auto ask = [&loop](std::function<void(MetricsDesk::Text)> done) { loop.edge().metrics->Ask(std::move(done)); };
  const MetricsDesk::Text text = co_await made.From(ask);
  if (text == nullptr) co_return;
  bool coded = AcceptsGzip(FindHeader(request.headers, "accept-encoding"));
  if (coded) coded = co_await Compress(loop, text);
  HeaderList headers;
  headers.Add("vary", "Accept-Encoding");
  if (coded) headers.Add("content-encoding", "gzip");
  const std::string& body = coded ? text->Coded(Gzipped) : text->plain();
  co_await SendWhole(answer, http_status::kOk, "text/plain; version=0.0.4; charset=utf-8", headers, body);
}

// The match shares the fleet, whose configuration has the rule: a reload may replace it.
void FindConfigured(const std::shared_ptr<const FleetView>& fleet, const RequestHead& head, RouteMatch& match) {
  const RouteConfig* found = FindPassedRoute(fleet->config().routes, head.method, head.target, &match.allow);
  if (found != nullptr) {
    match.route = Route::kPassed;
    match.endpoint = EndpointOf(*found);
    match.passed = std::shared_ptr<const RouteConfig>(fleet, found);
  } else if (!match.allow.empty()) {
    match.route = Route::kWrongMethod;
  }
}

RouteMatch FindRoute(EventLoop& loop, const ClientChannel& client, const RequestHead& head) {
  RouteMatch match = MatchRoute(head.method, head.target);
  if (match.route == Route::kNotFound) FindConfigured(loop.fleet(), head, match);
  const bool admin = client.use() == ClientChannel::Use::kAdmin;
  if (loop.edge().admin_apart && admin != match.admin) match.route = Route::kNotFound;
  return match;
}

asio::awaitable<void> RefuseContentType(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                        Answer& answer) {
  const ApiError error = WrongContentType(match.endpoint, FindHeader(request.headers, "content-type"));
  co_await TurnAway(loop, match, error, answer);
}

asio::awaitable<void> AnswerNothingThere(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                         Answer& answer) {
  const ApiError error = match.route == Route::kWrongMethod ? WrongMethod(request, match.allow) : NotFound(request);
  co_await AnswerError(loop, answer, error);
}

asio::awaitable<void> AnswerPreflight(EventLoop& loop, const ClientRequest& request, const RouteMatch& match,
                                      Answer& answer) {
  const HeaderList headers = PreflightHeaders(*loop.fleet()->config().cors, request.headers, match.allow);
  co_await SendWhole(answer, http_status::kNoContent, "", headers, "");
}

asio::awaitable<void> AnswerFull(Answer& answer) {
  const ApiError full = TooManyConnections();
  co_await answer.Error(full);
}

// Sessions and TurnAway note their own answers. A probe that finds the router not ready is no refusal.
void NoteRefusalOf(EventLoop& loop, const ClientChannel& client, const RequestHead& head, const Answer& answer) {
  if (answer.refusal() == 0) return;
  NoteRefusal(loop.edge(), {answer.request_id(), AddressOfClient(loop, client, head.headers), answer.refusal(),
                            answer.refusal_reason()});
}

// The account of a client's address.
uint64_t AccountOfAddress(EventLoop& loop, const ClientChannel& client, const RequestHead& head) {
  return AccountOf(AddressOfClient(loop, client, head.headers));
}

asio::awaitable<void> AnswerRoute(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                  const RouteMatch& match, Answer& answer) {
  switch (match.route) {
    case Route::kGenerate:
    case Route::kPassed:
    case Route::kRealtime:
    case Route::kStoredResponse:
    case Route::kOllama:
    case Route::kOllamaPage:
      break;  // These need an engine.
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
      co_await AnswerMetrics(loop, request, answer);
      break;
    case Route::kBatches:
    case Route::kBatch:
    case Route::kBatchCancel:
      co_await AnswerBatches(loop, request, match, AccountOfAddress(loop, client, request), answer);
      break;
    case Route::kFiles:
    case Route::kFile:
    case Route::kFileContent:
      co_await AnswerFiles(loop, request, match, AccountOfAddress(loop, client, request), client.upload(), answer);
      break;
    case Route::kPage:
      co_await AnswerPage(loop, client, request, match.page, answer);
      break;
    case Route::kNotFound:
    case Route::kWrongMethod:
      co_await AnswerNothingThere(loop, request, match, answer);
      break;
  }
}

// A session notes its own caller.
void NoteCaller(const EventLoop& loop, const ClientRequest& request, const RouteMatch& match, AccessLine* line) {
  if (line == nullptr) return;
  switch (match.route) {
    case Route::kBatches:
    case Route::kBatch:
    case Route::kBatchCancel:
    case Route::kFiles:
    case Route::kFile:
    case Route::kFileContent: {
      auto caller = loop.fleet()->tenants.Identify(request.headers);
      if (Caller* known = std::get_if<Caller>(&caller)) line->record()->tenant = std::move(known->name);
      break;
    }
    default:
      break;
  }
}

}  // namespace

std::optional<uint64_t> CallerOfBody(EventLoop& loop, const ClientChannel& client, const RequestHead& head) {
  const RouteMatch match = FindRoute(loop, client, head);
  const absl::string_view content_type = FindHeader(head.headers, "content-type");
  const bool upload = match.route == Route::kFiles && head.method == "POST";
  const bool batch = TakesBatchBody(match, head.method) && IsJson(content_type);
  const bool takes_body = upload ? TakesUpload(loop, match, content_type) : batch || TakesBody(match, content_type);
  if (client.use() == ClientChannel::Use::kSpare || !takes_body) return std::nullopt;
  if (CodingOf(FindHeader(head.headers, "content-encoding")) == ContentCoding::kUnknown) return std::nullopt;
  const auto caller = loop.fleet()->tenants.Identify(head.headers);
  if (std::holds_alternative<ApiError>(caller)) return std::nullopt;
  return AccountOf(std::get<Caller>(caller), AccountOfAddress(loop, client, head));
}

bool TakesPieces(const RequestHead& head) {
  return head.method == "POST" && MatchRoute(head.method, head.target).route == Route::kFiles;
}

BodyBound LargestBody(const EventLoop& loop, const RequestHead& head) {
  const Config& config = loop.fleet()->config();
  const bool upload = loop.edge().jobs != nullptr && TakesPieces(head);
  if (!upload) return static_cast<size_t>(config.limits.max_body.value());
  return {static_cast<size_t>(config.state.max_file.value()), kRoomOfForm};
}

// The frame lives as long as the request: what only some requests need is in coroutines of its own.
asio::awaitable<bool> HandleRequest(EventLoop& loop, ClientChannel& client, ClientRequest& request, Answer& answer) {
  const std::unique_ptr<AccessLine> line = AccessLine::Begin(loop, client, request, request.body.view().size(), answer);
  const RouteMatch match = FindRoute(loop, client, request);
  if (client.use() == ClientChannel::Use::kSpare && !match.admin) {
    co_await AnswerFull(answer);
    NoteRefusalOf(loop, client, request, answer);
    co_return false;
  }
  if (TakesBody(match, FindHeader(request.headers, "content-type"))) {
    if (FindHeader(request.headers, "content-encoding").empty()) {
      co_await Generate(loop, client, request, match, answer, line.get());
    } else {
      co_await GenerateDecoded(loop, client, request, match, answer, line.get());
    }
  } else if (match.route == Route::kWrongMethod && answer.cross_origin() &&
             IsPreflight(request.method, request.headers)) {
    co_await AnswerPreflight(loop, request, match, answer);
  } else if (match.route == Route::kGenerate) {
    co_await RefuseContentType(loop, request, match, answer);
  } else {
    NoteCaller(loop, request, match, line.get());
    co_await AnswerRoute(loop, client, request, match, answer);
    NoteRefusalOf(loop, client, request, answer);
  }
  co_return answer.CanTakeAnother();
}

asio::awaitable<void> RefuseRequest(EventLoop& loop, ClientChannel& client, const RequestHead& head,
                                    const ApiError& error, Answer& answer) {
  if (error.reason == LabelOf(TurnedAway::kBodyMemory)) loop.edge().telemetry->OnTurnedAway(TurnedAway::kBodyMemory);
  const std::unique_ptr<AccessLine> line = AccessLine::Begin(loop, client, head, 0, answer);
  co_await AnswerError(loop, answer, error);
  NoteRefusalOf(loop, client, head, answer);
}

}  // namespace penstock
