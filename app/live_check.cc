#include "app/live_check.h"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "backends/engines/scrape/engine_scraper.h"
#include "config/text/findings.h"
#include "config/values/capacity.h"
#include "router/fleet/discovery_text.h"
#include "router/fleet/known_replica.h"

namespace penstock {
namespace {

namespace asio = boost::asio;

absl::StatusOr<UpstreamPool::Options> OptionsOf(const ReplicaConfig& replica, bool tls) {
  UpstreamPool::Options options;
  if (!tls) return options;
  const EngineTlsConfig given = replica.tls.value_or(EngineTlsConfig());
  auto context = TlsContext::ForClient(given.ca.text, TlsIdentity{given.certificate.text, given.key.text});
  if (!context.ok()) return context.status();
  options.tls = *std::move(context);
  options.server_name = given.server_name;
  return options;
}

std::vector<absl::string_view> ModelsOf(const Discovery& found) {
  std::vector<absl::string_view> names;
  names.reserve(found.models.size());
  for (const ServedModel& model : found.models) names.push_back(model.name);
  return names;
}

std::string Facts(const Discovery& found) {
  std::string text(EngineOf(found.kind).name);
  if (!found.version.empty()) absl::StrAppend(&text, " ", found.version);
  absl::StrAppend(&text, " with ", absl::StrJoin(ModelsOf(found), ", "));
  if (found.kv_tokens > Tokens(0)) absl::StrAppend(&text, ", ", found.kv_tokens.value(), " KV tokens");
  return text;
}

// Its operator may have stopped the process.
bool MayBeStopped(const ReplicaConfig& replica) { return replica.sleep && replica.sleep->by == SleepBy::kCommand; }

LiveFinding Unreached(const ReplicaConfig& replica, const absl::Status& status) {
  LiveFinding finding{replica.id, absl::StrCat(replica.url, ": ", WhyUnreached(status)), false};
  if (MayBeStopped(replica) && !absl::IsUnauthenticated(status)) {
    finding.ok = true;
    absl::StrAppend(&finding.text, "; it may sleep: its commands stop it");
  }
  return finding;
}

asio::awaitable<void> Ask(const Config& config, const ReplicaConfig& replica, UpstreamPool& pool,
                          LiveFinding& finding) {
  const auto detected = co_await DetectEngine(pool, replica.key);
  if (!detected.ok()) {
    finding = Unreached(replica, detected.status());
    co_return;
  }
  const EngineDeclaration* configured = EngineByName(replica.engine);
  const EngineDeclaration& engine = configured != nullptr ? *configured : **detected;
  // A server without a sign may still be the configured engine, behind a proxy.
  const bool other = configured != nullptr && (*detected)->kind != EngineKind::kOpenAi && configured != *detected;
  EngineScraper scraper(engine);
  auto found = co_await scraper.Discover(pool, replica.key);
  if (found.ok()) SpellAsConfigured(config, replica, *found);
  if (other) {
    finding.text = absl::StrCat("is ", (*detected)->name, ", and `engine` says ", configured->name);
  } else if (!found.ok()) {
    finding = Unreached(replica, found.status());
  } else {
    finding.text = Disagreement(config, replica, *found);
    finding.ok = finding.text.empty();
    if (finding.ok) finding.text = Facts(*found);
    const std::string name = NameOfModel(config, replica, *found);
    if (finding.ok && !replica.model.empty() && name != replica.model) {
      absl::StrAppend(&finding.text, ", which clients call ", CanonicalName(config, replica.model));
    }
  }
}

}  // namespace

std::string Disagreement(const Config& config, const ReplicaConfig& replica, const Discovery& found) {
  const std::vector<absl::string_view> names = ModelsOf(found);
  if (names.empty()) return "lists no model";
  if (!replica.model.empty() && NameOfModel(config, replica, found).empty()) {
    return absl::StrCat("does not serve the model \"", replica.model, "\"", Suggestion(replica.model, names),
                        ", it lists: ", absl::StrJoin(names, " "));
  }
  const int64_t given = replica.kv_tokens ? replica.kv_tokens->value() : 0;
  // A pool has whole blocks only.
  if (found.kv_tokens > Tokens(0) && given >= found.kv_tokens.value() + std::max(found.block, Tokens(1)).value()) {
    return absl::StrCat("has ", found.kv_tokens.value(), " KV tokens, and kv_tokens says ", given);
  }
  return "";
}

std::vector<LiveFinding> AskEngines(const Config& config) {
  asio::io_context loop;
  size_t open = 0;
  std::vector<std::unique_ptr<UpstreamPool>> pools;
  std::vector<LiveFinding> findings;
  findings.reserve(config.replicas.size());  // The coroutines hold references.
  for (const ReplicaConfig& replica : config.replicas) {
    if (replica.url.empty()) continue;
    LiveFinding& finding = findings.emplace_back(LiveFinding{replica.id, "", false});
    auto address = ParseUpstreamUrl(replica.url);
    auto options = address.ok() ? OptionsOf(replica, address->tls) : address.status();
    if (!options.ok()) {
      finding.text = std::string(options.status().message());
      continue;
    }
    ++open;
    pools.push_back(std::make_unique<UpstreamPool>(loop, *std::move(address), *std::move(options)));
    asio::co_spawn(loop, Ask(config, replica, *pools.back(), finding), [&loop, &open](const std::exception_ptr&) {
      // Idle connections would keep the loop for seconds.
      if (--open == 0) loop.stop();
    });
  }
  loop.run();
  return findings;
}

}  // namespace penstock
