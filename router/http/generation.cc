#include "router/http/generation.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/http/apart_session.h"
#include "router/http/body_decoding.h"
#include "router/http/coding/gzip_client.h"
#include "router/http/peer/forwarded_for.h"
#include "router/http/request_handler.h"
#include "router/live/key_counts.h"
#include "router/ollama/handler.h"
#include "router/openai/passed/passed_scan.h"
#include "router/openai/request/body_decoder.h"
#include "router/openai/route/target.h"
#include "router/realtime/upgrade.h"
#include "router/session/session.h"
#include "router/tracing/begin_trace.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

SessionRequest RequestOf(EventLoop& loop, ClientChannel& client, const ClientRequest& request, const RouteMatch& match,
                         Answer& answer, AccessLine* line) {
  SessionRequest made{match.endpoint,
                      &request.headers,
                      request.body.view(),
                      answer.request_id(),
                      AddressOfClient(loop, client, request.headers),
                      client.peer().account()};
  made.method = request.method;
  made.client_path = PathOf(OriginForm(request.target));
  if (match.route == Route::kPassed || match.route == Route::kStoredResponse) {
    made.route = match.passed;
    made.stored_id = match.id;
    made.target = OriginForm(request.target);
  }
  made.trace = BeginTrace(request.headers, loop.edge().traces, Now());
  if (made.trace) answer.SetTrace(made.trace->trace_id());
  if (line != nullptr) made.record = line->record();
  return made;
}

// Each way has a frame of its own: a session takes kilobytes of it for as long as its stream lasts.

asio::awaitable<void> GenerateOllama(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                     const RouteMatch& match, Answer& answer, AccessLine* line) {
  const uint64_t account = CallerOfBody(loop, client, request).value_or(0);
  SessionRequest made = RequestOf(loop, client, request, match, answer, line);
  co_await ollama::AnswerOllama(loop, answer, match.page, std::move(made), account);
}

asio::awaitable<void> GeneratePlain(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                    const RouteMatch& match, Answer& answer, AccessLine* line) {
  Session session(loop, answer, RequestOf(loop, client, request, match, answer, line));
  co_await session.Run();
  client.Reuse(std::move(request.body));
}

// Even an answer that stays plain tells by Vary that it could be compressed.
asio::awaitable<void> GenerateInGzip(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                     const RouteMatch& match, Answer& answer, AccessLine* line) {
  const auto above = static_cast<uint64_t>(loop.fleet()->config().compression.above.value());
  GzipClient gzip(answer, loop.io(), above, AcceptsGzip(FindHeader(request.headers, "accept-encoding")));
  Session session(loop, gzip, RequestOf(loop, client, request, match, answer, line));
  co_await session.Run();
  client.Reuse(std::move(request.body));
}

// The rule of a WebSocket: its query names the model, and its lease has a constant size.
std::shared_ptr<const RouteConfig> RealtimeRule(const RealtimeConfig& config) {
  RouteConfig rule;
  rule.methods = {"GET"};
  rule.model = "query:model";
  rule.cost = RouteCost::kTokens;
  rule.tokens = config.tokens;
  return std::make_shared<const RouteConfig>(std::move(rule));
}

asio::awaitable<void> GenerateRealtime(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                       const RouteMatch& match, Answer& answer, AccessLine* line) {
  const RealtimeConfig& config = loop.fleet()->config().realtime;
  const std::string key = KeyAmongProtocols(request.headers);
  if (!key.empty() && ApiKeyOf(request.headers).empty()) {
    request.headers.Add("authorization", absl::StrCat("Bearer ", key));
  }
  std::optional<ApiError> error = CheckUpgrade(request.headers, request.http10);
  // A refused handshake takes no place, however slowly its client reads that. The session refuses a missing key.
  const std::optional<uint64_t> caller = error ? std::nullopt : CallerOfBody(loop, client, request);
  std::optional<SharedPlaces::Place> place;
  if (caller) place = loop.edge().realtime.Enter(*caller, config.connections);
  if (caller && !place) {
    error =
        MakeError(ErrorName::kTooManyRealtime,
                  "The router has as many WebSockets as it may have, or as it may have of one caller. Retry later.");
    loop.edge().telemetry->OnTurnedAway(TurnedAway::kRealtime);
  }
  if (error) {
    co_await TurnAway(loop, match, *error, answer);
    co_return;
  }
  SessionRequest made = RequestOf(loop, client, request, match, answer, line);
  made.route = RealtimeRule(config);
  made.target = OriginForm(request.target);
  Session session(loop, answer, std::move(made));
  co_await session.Run();
}

asio::awaitable<void> GenerateAttached(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                       const RouteMatch& match, Answer& answer, AccessLine* line) {
  const bool gzip = loop.fleet()->config().compression.answers;
  return (gzip ? GenerateInGzip : GeneratePlain)(loop, client, request, match, answer, line);
}

asio::awaitable<void> GenerateResponse(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                       const RouteMatch& match, Answer& answer, AccessLine* line) {
  const bool apart = co_await MayRunApart(loop, answer, request.body.view());
  if (answer.gone()) co_return;
  if (!apart) {
    co_await GenerateAttached(loop, client, request, match, answer, line);
    co_return;
  }
  SessionRequest made = RequestOf(loop, client, request, match, answer, line);
  co_await RunApart(loop, request, std::move(made), answer);
}

}  // namespace

bool IsJson(absl::string_view content_type) {
  const absl::string_view type = absl::StripTrailingAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  return type.empty() || absl::EqualsIgnoreCase(type, "application/json") || absl::EndsWithIgnoreCase(type, "+json");
}

bool TakesBody(const RouteMatch& match, absl::string_view content_type) {
  if (match.route == Route::kPassed || match.route == Route::kOllama || match.route == Route::kOllamaPage) return true;
  if (match.route == Route::kStoredResponse || match.route == Route::kRealtime) return true;
  if (match.route != Route::kGenerate) return false;
  return TraitsOf(match.endpoint).form ? IsForm(content_type) : IsJson(content_type);
}

asio::ip::address AddressOfClient(EventLoop& loop, const ClientChannel& client, const HeaderList& headers) {
  return ClientAddress(loop.fleet()->proxies, client.peer().address, headers);
}

asio::awaitable<void> Generate(EventLoop& loop, ClientChannel& client, ClientRequest& request, const RouteMatch& match,
                               Answer& answer, AccessLine* line) {
  auto* way = match.endpoint == Endpoint::kResponses ? GenerateResponse : GenerateAttached;
  if (match.route == Route::kOllama || match.route == Route::kOllamaPage) way = GenerateOllama;
  if (match.route == Route::kRealtime) way = GenerateRealtime;
  return way(loop, client, request, match, answer, line);
}

asio::awaitable<void> TurnAway(EventLoop& loop, const RouteMatch& match, const ApiError& error, Answer& answer) {
  Telemetry& telemetry = *loop.edge().telemetry;
  if (error.bad_input) telemetry.OnBadInput(*error.bad_input);
  co_await answer.Error(error);
  RequestRecord record;
  record.endpoint = std::string(TraitsOf(match.endpoint).label);
  record.outcome = error.bad_input ? RequestOutcome::kBadRequest : RequestOutcome::kRefused;
  record.reason = answer.refusal_reason();
  record.status = error.status;
  telemetry.OnRequest(record);
}

asio::awaitable<void> GenerateDecoded(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                      const RouteMatch& match, Answer& answer, AccessLine* line) {
  const std::optional<uint64_t> caller = CallerOfBody(loop, client, request);
  const absl::string_view coding = FindHeader(request.headers, "content-encoding");
  std::optional<ApiError> error;
  if (CodingOf(coding) == ContentCoding::kUnknown) {
    error = UnknownEncoding(coding);
  } else if (caller) {  // The session refuses a caller without a key before it reads the body.
    error = co_await DecodeBody(loop, answer, *caller, request);
    if (answer.gone()) co_return;
  }
  if (error) {
    co_await TurnAway(loop, match, *error, answer);
  } else {
    co_await Generate(loop, client, request, match, answer, line);
  }
}

}  // namespace penstock
