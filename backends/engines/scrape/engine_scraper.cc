#include "backends/engines/scrape/engine_scraper.h"

#include <string>

#include "backends/dialect/models_list.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/engines/contract/possible.h"
#include "backends/engines/contract/served_models.h"
#include "backends/transport/fetch.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

// A refused optional page arrives as an empty body.
absl::Status ReadPage(const PollPage& page, absl::string_view body, const Discovery& found, Observation* seen) {
  if (page.read == nullptr) return absl::OkStatus();
  if (page.need == Need::kOptional && body.empty()) return absl::NotFoundError("the engine refuses the page");
  return page.read(body, found, seen);
}

}  // namespace

asio::awaitable<absl::StatusOr<Discovery>> EngineScraper::Discover(UpstreamPool& pool, absl::string_view key) {
  Discovery found;
  found.kind = engine_.kind;
  for (const DiscoveryPage& page : engine_.discovery_pages) {
    auto body = co_await FetchGood(pool, page.path, key);
    if (!body.ok() && page.older_path != nullptr) body = co_await FetchGood(pool, page.older_path, key);
    absl::Status status = body.status();
    if (absl::IsResourceExhausted(status)) co_return status;  // The page was never asked for.
    if (status.ok()) status = page.read(*body, &found);
    if (!status.ok() && page.need == Need::kRequired) co_return status;
    // FetchGood's NotFound; the readers have other errors.
    if (absl::IsNotFound(status) && page.refused != nullptr) page.refused(&found);
  }
  DropImpossible(found);
  found_ = found;
  pauses_.assign(engine_.poll_pages.size(), 0);
  co_return found;
}

asio::awaitable<absl::Status> EngineScraper::AskIfAlive(UpstreamPool& pool, absl::string_view key,
                                                        absl::Status failure) {
  if (*engine_.alive_path == 0) {
    const bool answered = absl::IsFailedPrecondition(failure) || absl::IsOutOfRange(failure);
    co_return answered ? absl::OkStatus() : failure;
  }
  const auto alive = co_await FetchGood(pool, engine_.alive_path, key);
  co_return alive.status();
}

asio::awaitable<absl::StatusOr<Observation>> EngineScraper::Poll(UpstreamPool& pool, absl::string_view key) {
  // After a failed page the engine has to show first that it lives: a frozen engine costs one timeout per poll.
  if (doubtful_ && *engine_.alive_path != 0) {
    const auto alive = co_await FetchGood(pool, engine_.alive_path, key);
    if (!alive.ok()) co_return alive.status();
  }
  doubtful_ = false;
  Observation seen;
  for (size_t i = 0; i < engine_.poll_pages.size(); ++i) {
    const PollPage& page = engine_.poll_pages[i];
    if (pauses_[i] == kForGood || (page.due != nullptr && !page.due(found_, seen))) continue;
    if (pauses_[i] > 0) {
      --pauses_[i];
      doubtful_ = true;
      continue;
    }
    // Two statements: g++ 12 destroys the wrong coroutine of a conditional expression.
    absl::StatusOr<std::string> body;
    if (page.need == Need::kRequired) {
      body = co_await FetchGood(pool, page.path, key);
    } else {
      body = co_await FetchUnlessRefused(pool, page.path, key);
    }
    if (!body.ok() && (page.need == Need::kRequired || absl::IsResourceExhausted(body.status()))) {
      co_return body.status();
    }
    if (!body.ok()) {
      doubtful_ = true;
      pauses_[i] = *engine_.alive_path != 0 ? kPause : 0;
      fault_ = std::string(body.status().message());
      // Another page would be as late: the next poll asks for it first.
      if (absl::IsDeadlineExceeded(body.status())) co_return body.status();
      absl::Status alive = co_await AskIfAlive(pool, key, body.status());
      if (!alive.ok()) co_return alive;
      continue;
    }
    const absl::Status status = ReadPage(page, *body, found_, &seen);
    if (!status.ok() && page.need == Need::kRequired) co_return status;
    if (!status.ok() && page.ask_once_when_refused) pauses_[i] = kForGood;
  }
  if (!doubtful_) fault_.clear();
  seen.fault = fault_;
  seen.kv_used_share = PossibleUse(seen.kv_used_share);
  co_return seen;
}

asio::awaitable<absl::StatusOr<const EngineDeclaration*>> DetectEngine(UpstreamPool& pool, absl::string_view key) {
  auto listed = co_await Fetch(pool, kModelsPath, key);
  if (!listed.ok()) co_return listed.status();
  const auto models = ParseModelsList(listed->body);
  if (models.ok()) {
    if (const EngineDeclaration* engine = EngineByOwner(models->owner)) co_return engine;
  }
  for (const EngineDeclaration* engine : EngineCatalogue()) {
    for (const Sign& sign : engine->signs) {
      auto answer = co_await Fetch(pool, sign.path, key);
      if (!answer.ok()) co_return answer.status();
      if (answer->ok() && sign.matches(answer->body)) co_return engine;
    }
  }
  co_return &EngineOf(EngineKind::kOpenAi);
}

}  // namespace penstock
