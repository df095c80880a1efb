#include "app/serve/reports.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/certificate_validity.h"
#include "router/http/exchange/answer.h"
#include "router/page/page_feed.h"

namespace penstock {
namespace {

// A line of the log, where it has every decision.
void LogDifference(const ShadowDifference& difference, DecisionLog& log) {
  if (!log.Wants(DecisionEntry::Kind::kForward)) return;
  DecisionEntry entry;
  entry.model = difference.model;
  entry.service_class = difference.service_class;
  entry.replica = difference.replica;
  entry.reason = difference.reason;
  entry.message = absl::StrCat("shadow: ", TraitsOf(difference.verdict).text);
  if (!difference.shadow_replica.empty()) absl::StrAppend(&entry.message, " It chose ", difference.shadow_replica, ".");
  entry.peak_share = difference.peak_share;
  if (difference.expected_ttft) entry.expected_ttft = Duration::Seconds(*difference.expected_ttft);
  log.Write(std::move(entry));
}

}  // namespace

void NoteLines(DecisionLog& log, absl::string_view head, absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    log.Note(absl::StrCat(head, line), LogLevel::kError);
  }
}

CertificateEnds CertificateEndsOf(const std::optional<ListenTlsConfig>& clients,
                                  const std::optional<ListenTlsConfig>& admin) {
  CertificateEnds ends;
  const auto add = [&ends](const char* listener, const std::optional<ListenTlsConfig>& tls) {
    const auto valid = tls ? ValidityOf(tls->certificate) : std::nullopt;
    if (valid) ends[listener] = static_cast<double>(valid->ends);
  };
  add("clients", clients);
  add("admin", admin);
  return ends;
}

absl::StatusOr<std::unique_ptr<DecisionLog>> OpenLog(const Config& config) {
  DecisionLog::Options options;
  options.path = config.log.path;
  options.all = config.log.all_decisions;
  options.keep_recent = PageFeed::kRecentDecisions;
  options.level = config.log.level;
  options.access = config.log.access;
  options.format = config.log.format;
  return DecisionLog::Open(options);
}

absl::StatusOr<std::unique_ptr<SpanExporter>> MakeExporter(const Config& config, const std::string& version,
                                                           Telemetry& telemetry, DecisionLog& log) {
  const TracingConfig& tracing = config.tracing;
  if (tracing.endpoint.empty()) return std::unique_ptr<SpanExporter>();
  SpanExporter::Options options;
  options.endpoint = tracing.endpoint;
  for (const auto& [name, value] : tracing.headers) options.headers.Add(name, value);
  options.resource = {tracing.service_name, version, NewRequestId()};
  options.sample = tracing.sample;
  options.interval = tracing.interval;
  options.count = [&telemetry](SpanEnd end, size_t spans) { telemetry.OnSpans(end, spans); };
  options.on_trouble = [&log](std::string trouble) {
    if (trouble.empty()) return log.Note("the trace collector takes spans again");
    log.Note(std::move(trouble), LogLevel::kWarning);
  };
  return SpanExporter::Create(std::move(options));
}

absl::StatusOr<std::unique_ptr<ShadowThread>> ShadowOf(const PolicyPair& policy, uint64_t seed,
                                                       const std::unique_ptr<CoreHost>& core, DecisionLog& log) {
  if (policy.shadow.empty()) return std::unique_ptr<ShadowThread>();
  PolicyShadow::Options options{policy.decide, policy.shadow, seed, [&core] { return core->View(); }};
  auto shadow = PolicyShadow::Create(std::move(options));
  if (!shadow.ok()) return shadow.status();
  auto thread = std::make_unique<ShadowThread>(*std::move(shadow));
  thread->OnDifference([&log](const ShadowDifference& difference) { LogDifference(difference, log); });
  return thread;
}

CoreHost::Recorder RecorderOf(GpuWatch& gpus, RunTap& runs, ShadowThread* shadow, CoreHost::Recorder also) {
  return [&gpus, &runs, shadow, also = std::move(also)](const Event& event, Instant now,
                                                        const std::vector<Action>& actions) {
    gpus.Observe(event, now, actions);
    runs.See(event, now, actions);
    if (shadow != nullptr) shadow->See(event, now, actions);
    if (also) also(event, now, actions);
  };
}

}  // namespace penstock
