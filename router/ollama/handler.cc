#include "router/ollama/handler.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/http/pages/model_desk.h"
#include "router/http/pages/ollama_text.h"
#include "router/live/loop_turn.h"
#include "router/ollama/ollama_client.h"
#include "router/ollama/pages.h"
#include "router/openai/request/json_walk.h"
#include "router/session/client/attended.h"
#include "router/session/state/refusal_notes.h"

namespace penstock::ollama {
namespace asio = boost::asio;

namespace {

constexpr absl::string_view kPageType = "application/json; charset=utf-8";

asio::awaitable<void> Refuse(EventLoop& loop, Client& answer, const SessionRequest& request, const ApiError& error) {
  if (error.bad_input) loop.edge().telemetry->OnBadInput(*error.bad_input);
  co_await answer.Error(error);
  NoteRefusal(loop.edge(), {request.id, request.client_address, error.status, error.reason});
}

ApiError UnknownModel(absl::string_view name) {
  return FromRefusal(penstock::Refuse{RequestId(), Refusal::kUnknownModel, Duration(), 0, 0}, name);
}

// An engine must see JSON, whatever the client called its body: Ollama reads any.
HeaderList HeadersOf(const HeaderList& client) {
  HeaderList headers;
  for (const auto [name, value] : client) {
    if (!absl::EqualsIgnoreCase(name, "content-type") && !absl::EqualsIgnoreCase(name, "accept")) {
      headers.Add(name, value);
    }
  }
  headers.Add("Content-Type", "application/json");
  return headers;
}

// Reads the body in slices, until the client leaves. An error is the answer.
asio::awaitable<std::optional<ApiError>> Scan(EventLoop& loop, const Attended& client, absl::string_view body,
                                              RequestFields& fields) {
  JsonWalk walk(body);
  JsonWalk::Progress progress = walk.Run(fields, kScanSlice);
  while (progress == JsonWalk::Progress::kPaused && !client.gone()) {
    co_await LetOthersRun(loop.io());
    progress = walk.Run(fields, kScanSlice);
  }
  if (progress == JsonWalk::Progress::kDone) co_return std::nullopt;
  co_return MakeError(ErrorName::kInvalidJson,
                      absl::StrCat("The body is not a JSON object: it is wrong, breaks off or ",
                                   "is too deep near byte ", walk.position(), "."));
}

// Plans the body and copies it, in slices, until the client leaves. The memory grows with the plan.
asio::awaitable<std::optional<ApiError>> Build(EventLoop& loop, const Attended& client, RequestBuilder& builder,
                                               FairShare& memory, std::string& body) {
  const LimitsConfig limits = loop.fleet()->config().limits;
  while (!builder.planned() && !client.gone()) {
    if (std::optional<ApiError> error = builder.Plan()) co_return error;
    if (static_cast<int64_t>(builder.size()) > limits.max_body.value()) {
      co_return MakeError(ErrorName::kBodyTooLarge,
                          absl::StrCat("The translated body is larger than ", limits.max_body.value(), " bytes."));
    }
    if (!memory.GrowTo(Bytes(static_cast<int64_t>(builder.size())), limits.max_body_memory)) co_return NoBodyMemory();
    if (!builder.planned()) co_await LetOthersRun(loop.io());
  }
  body.reserve(builder.size());
  while (!client.gone() && !builder.Advance(body)) co_await LetOthersRun(loop.io());
  co_return std::nullopt;
}

asio::awaitable<void> Converse(EventLoop& loop, Client& answer, Call call, SessionRequest request, uint64_t account) {
  RequestFields fields(request.body);
  std::optional<Attended> attended(std::in_place, answer);
  std::optional<ApiError> error = co_await Scan(loop, *attended, request.body, fields);
  if (attended->gone()) co_return;
  std::string name, body;
  RequestBuilder builder(call, fields);
  if (!error) error = builder.ReadModel(&name);
  if (!error) error = builder.Begin(name);
  if (!error && builder.empty()) error = builder.Plan();
  if (error) co_return co_await Refuse(loop, answer, request, *error);
  AnswerWriter writer(call, name, Now());
  if (builder.empty()) {
    const ApiError unknown = UnknownModel(name);
    if (!loop.fleet()->book.ModelByName(name)) co_return co_await Refuse(loop, answer, request, unknown);
    const std::string loaded = writer.Loaded(WrittenNow());
    const HeaderList none;
    co_await SendWhole(answer, http_status::kOk, kPageType, none, loaded);
    co_return;
  }
  FairShare memory(&loop.edge().bodies, account);
  error = co_await Build(loop, *attended, builder, memory, body);
  if (attended->gone()) co_return;
  attended.reset();
  if (error) co_return co_await Refuse(loop, answer, request, *error);
  const HeaderList headers = HeadersOf(*request.headers);
  request.headers = &headers;
  request.body = body;
  request.endpoint = builder.raw() ? Endpoint::kCompletions : Endpoint::kChat;
  OllamaClient client(loop, answer, std::move(writer), account);
  Session session(loop, client, std::move(request));
  co_await session.Run();
}

asio::awaitable<void> Show(EventLoop& loop, Client& answer, const SessionRequest& request) {
  RequestFields fields(request.body);
  const Attended attended(answer);
  std::optional<ApiError> error = co_await Scan(loop, attended, request.body, fields);
  if (attended.gone()) co_return;
  std::string name;
  if (!error) error = RequestBuilder(Call::kChat, fields).ReadModel(&name);
  const std::shared_ptr<const FleetView> fleet = loop.fleet();
  if (!error && !fleet->book.ModelByName(name)) error = UnknownModel(name);
  if (error) co_return co_await Refuse(loop, answer, request, *error);
  const std::string body = ShowJson(*fleet, name, OllamaTime(loop.edge().models->since()));
  const HeaderList none;
  co_await SendWhole(answer, http_status::kOk, kPageType, none, body);
}

asio::awaitable<void> ListModels(EventLoop& loop, Client& answer, absl::string_view page) {
  const ModelDesk::List list = co_await ModelsNow(loop, answer);
  if (list == nullptr) co_return;
  const HeaderList none;
  co_await SendWhole(answer, http_status::kOk, kPageType, none, page == "ps" ? list->running() : list->tags());
}

}  // namespace

asio::awaitable<void> AnswerOllama(EventLoop& loop, Client& answer, absl::string_view page, SessionRequest request,
                                   uint64_t account) {
  // Models are as private as generating is.
  const auto caller = loop.fleet()->tenants.Identify(*request.headers);
  const ApiError* denied = std::get_if<ApiError>(&caller);
  if (denied != nullptr && page != "version") {
    co_await Refuse(loop, answer, request, *denied);
  } else if (page == "chat" || page == "generate") {
    const Call call = page == "chat" ? Call::kChat : Call::kGenerate;
    co_await Converse(loop, answer, call, std::move(request), account);
  } else if (page == "show") {
    co_await Show(loop, answer, request);
  } else if (page != "version") {
    co_await ListModels(loop, answer, page);
  } else {
    const std::string body = VersionJson(PENSTOCK_VERSION);
    const HeaderList none;
    co_await SendWhole(answer, http_status::kOk, kPageType, none, body);
  }
}

}  // namespace penstock::ollama
