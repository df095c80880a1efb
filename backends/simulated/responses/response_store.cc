#include "backends/simulated/responses/response_store.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "backends/simulated/face/job.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr std::string_view kPath = "/v1/responses";

Page Object(const json& object) { return {200, DumpJson(object)}; }

ResponseReply Refused(const ApiError& error, const Engine& engine) {
  ResponseReply reply;
  reply.page = ErrorPage(error, engine);
  return reply;
}

ResponseReply NotFound(const std::string& id, const Engine& engine) {
  return Refused({404, "Response with id '" + id + "' not found.", "invalid_request_error", "response_id", {}}, engine);
}

ResponseReply Whole(Page page) {
  ResponseReply reply;
  reply.page = std::move(page);
  return reply;
}

// The value of a parameter; empty: there is none.
std::string_view Parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t mark = pair.find('=');
    if (pair.substr(0, mark) == name && mark != std::string_view::npos) return pair.substr(mark + 1);
  }
  return {};
}

json NewObject(const Job& job, const ResponseOrder& order, int64_t created) {
  json object = {{"id", job.id},
                 {"object", "response"},
                 {"created_at", created},
                 {"model", job.model},
                 {"status", order.background ? "queued" : "in_progress"},
                 {"background", order.background},
                 {"store", order.store},
                 {"output", json::array()},
                 {"usage", nullptr},
                 {"error", nullptr},
                 {"incomplete_details", nullptr},
                 {"instructions", nullptr},
                 {"metadata", nullptr},
                 {"previous_response_id", order.previous.empty() ? json() : json(order.previous)},
                 {"parallel_tool_calls", true},
                 {"temperature", nullptr},
                 {"top_p", nullptr},
                 {"tool_choice", "auto"},
                 {"tools", json::array()}};
  object.update(order.shown);
  return object;
}

}  // namespace

Page PageOf(const ResponseLog& log, const Engine& engine) {
  const json& object = log.object();
  if (object["status"] != "failed") return Object(object);
  return ErrorPage({500, object["error"]["message"].get<std::string>(), "server_error", "", {}}, engine);
}

ResponseRun::ResponseRun(std::shared_ptr<Engine> engine, Job job, ResponseOrder order, int64_t created)
    : order_(std::move(order)), log_(std::make_shared<ResponseLog>(NewObject(job, order_, created))) {
  job.log = log_;
  job.stream = true;
  exchange_ = std::make_unique<Exchange>(std::move(engine), std::move(job), created, [this] { Tell(); });
}

void ResponseRun::Start(Instant now) { exchange_->Start(now); }

void ResponseRun::Cancel() {
  exchange_->AbortAll();
  log_->Cancel();
  Tell();
}

void ResponseRun::Tell() {
  for (const auto& [who, on_change] : listeners_) on_change();
}

json ResponseRun::Conversation() const {
  json messages = earlier;
  for (json& message : MessagesOf(order_.items)) messages.push_back(std::move(message));
  const json& call = log_->call();
  messages.push_back(call.is_null() ? json{{"role", "assistant"}, {"content", log_->text()}}
                                    : MessagesOf(json::array({call})).front());
  return messages;
}

bool ResponseStore::Owns(std::string_view path) {
  return path.substr(0, kPath.size()) == kPath && (path.size() == kPath.size() || path[kPath.size()] == '/');
}

void ResponseStore::Clear() {
  for (const auto& [id, run] : runs_) run->Cancel();
  runs_.clear();
  order_.clear();
}

void ResponseStore::Keep(const std::string& id, std::shared_ptr<ResponseRun> run) {
  for (auto oldest = order_.begin(); runs_.size() >= kMost && oldest != order_.end();) {
    const auto found = runs_.find(*oldest);
    const bool ended = found == runs_.end() || found->second->done();
    if (ended && found != runs_.end()) runs_.erase(found);
    oldest = ended ? order_.erase(oldest) : oldest + 1;
  }
  runs_[id] = std::move(run);
  order_.push_back(id);
}

ResponseReply ResponseStore::Create(const PageRequest& request, const JobHeaders& headers,
                                    const std::shared_ptr<Engine>& rank, uint64_t serial, Instant now) {
  const json body = json::parse(request.body.begin(), request.body.end(), nullptr, false);
  if (!body.is_object()) return Refused({400, "The body must be a JSON object", "Bad Request", "", {}}, *rank);
  ResponseOrder order = ReadOrder(body);
  if (order.background && !order.store) {
    return Refused({400, "background can only be used when `store` is true", "BadRequestError", "", {}}, *rank);
  }
  json earlier = json::array();
  if (!order.previous.empty()) {
    const auto found = runs_.find(order.previous);
    if (found == runs_.end()) return NotFound(order.previous, *rank);
    earlier = found->second->Conversation();
  }
  auto parsed = ParseJob(Route::kResponses, ChatOf(body, order, earlier), headers, *rank, serial);
  if (const auto* error = std::get_if<ApiError>(&parsed)) return Refused(*error, *rank);
  Job job = std::get<Job>(std::move(parsed));
  if (!order.id.empty()) job.id = order.id;
  const std::string id = job.id;
  ResponseReply reply;
  reply.stream = order.stream;
  reply.owned = !order.background;
  const bool queued = order.background && !order.stream;
  const bool kept = order.store && !rank->spec().LlamaDialect();
  reply.run = std::make_shared<ResponseRun>(rank, std::move(job), std::move(order), request.now_unix);
  reply.run->earlier = std::move(earlier);
  if (queued) {
    json object = reply.run->log().object();
    object["status"] = "queued";
    reply.page = Object(object);
  }
  if (kept) Keep(id, reply.run);
  reply.run->Start(now);
  return reply;
}

ResponseReply ResponseStore::Retrieve(const PageRequest& request, const std::shared_ptr<ResponseRun>& run) const {
  const std::string_view stream = Parameter(request.query, "stream");
  if (stream != "true" && stream != "1") return Whole(Object(run->log().object()));
  ResponseReply reply;
  reply.run = run;
  reply.stream = true;
  const std::string_view after = Parameter(request.query, "starting_after");
  uint32_t last = 0;
  const bool number = std::from_chars(after.data(), after.data() + after.size(), last).ec == std::errc();
  if (!after.empty() && number) reply.from = size_t{last} + 1;
  return reply;
}

ResponseReply ResponseStore::Answer(const PageRequest& request, const JobHeaders& headers,
                                    const std::shared_ptr<Engine>& rank, uint64_t serial, Instant now) {
  if (request.path == kPath && request.method == "POST") return Create(request, headers, rank, serial, now);
  std::string_view rest = request.path.substr(std::min(request.path.size(), kPath.size() + 1));
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string id(rest.substr(0, slash));
  const std::string_view verb = rest.substr(slash);
  const auto found = runs_.find(id);
  if (found == runs_.end()) return NotFound(id, *rank);
  const std::shared_ptr<ResponseRun> run = found->second;
  if (request.method == "GET" && verb.empty()) return Retrieve(request, run);
  if (request.method == "GET" && verb == "/input_items") return Whole(Object(InputItems(id, run->order().items)));
  if (request.method == "DELETE" && verb.empty()) {
    run->Cancel();
    runs_.erase(found);
    return Whole(Object({{"id", id}, {"object", "response"}, {"deleted", true}}));
  }
  if (request.method == "POST" && verb == "/cancel") {
    if (run->done() || !run->order().background) {
      return Refused({400, "Cannot cancel a synchronous response.", "invalid_request_error", "", {}}, *rank);
    }
    run->Cancel();
    return Whole(Object(run->log().object()));
  }
  return Refused({405, "Method Not Allowed", "Bad Request", "", {}}, *rank);
}

}  // namespace penstock::simulated
