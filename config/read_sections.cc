#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/addresses.h"
#include "config/draft.h"

namespace penstock {
namespace {

const TimeRange kTimeoutRange{Duration::Milliseconds(1), Duration::Seconds(7 * 86'400.0)};

void ReadLimits(const MapReader& reader, LimitsConfig* limits) {
  const SizeRange sizes{Bytes(1'000), Bytes(int64_t{1} << 40)};
  const SizeRange bodies{Bytes(1'000), Bytes(int64_t{4} << 30)};
  reader.ReadSize("max_body", bodies, &limits->max_body);
  reader.ReadSize("max_header", {Bytes(1'000), Bytes(16 << 20)}, &limits->max_header);
  reader.ReadCount("max_connections", {1, 10'000'000}, &limits->max_connections);
  reader.ReadCount("max_queued_requests", {0, 10'000'000}, &limits->max_queued_requests);
  reader.ReadSize("max_queued_bytes", sizes, &limits->max_queued_bytes);
  reader.ReadSize("max_body_memory", sizes, &limits->max_body_memory);
  reader.ReadSize("max_answer", bodies, &limits->max_answer);
  const SizeRange kept{Bytes(0), Bytes(int64_t{1} << 40)};
  reader.ReadSize("max_kept_text", kept, &limits->max_kept_text);
  reader.ReadSize("max_kept_text_total", kept, &limits->max_kept_text_total);
  const std::pair<absl::string_view, Duration*> timeouts[] = {
      {"header_timeout", &limits->header_timeout},   {"body_timeout", &limits->body_timeout},
      {"idle_timeout", &limits->idle_timeout},       {"write_timeout", &limits->write_timeout},
      {"connect_timeout", &limits->connect_timeout}, {"first_byte_timeout", &limits->first_byte_timeout},
      {"gap_timeout", &limits->gap_timeout},         {"keepalive_after", &limits->keepalive_after},
      {"drain_timeout", &limits->drain_timeout},     {"answer_timeout", &limits->answer_timeout},
  };
  for (const auto& [key, target] : timeouts) reader.ReadTime(key, kTimeoutRange, target);
}

void ReadAddress(const MapReader& root, absl::string_view key, std::string* out) {
  if (!root.ReadText(key, out)) return;
  const absl::StatusOr<HostPort> address = ParseListen(*out);
  if (!address.ok()) root.Fail(key, address.status().message());
}

void ReadTraceModels(const MapReader& trace, TraceConfig* out) {
  const std::optional<MapReader> models = trace.ReadMap("models", SectionId::kTraceModels);
  if (!models) return;
  for (const std::string& name : models->Keys()) {
    std::string model;
    if (models->ReadText(name, &model)) out->models[name] = model;
  }
}

// `name` or `name:key=value,...`.
void ReadPolicy(const MapReader& root, const PolicyCheck& policies, std::string* out) {
  std::string text;
  if (!root.ReadText("policy", &text)) return;
  if (policies.parse && text.find(':') == std::string::npos) {
    const std::vector<absl::string_view> names(policies.names.begin(), policies.names.end());
    if (root.ReadChoice("policy", names)) *out = text;
    return;
  }
  const absl::Status parsed = policies.parse ? policies.parse(text) : absl::OkStatus();
  if (parsed.ok())
    *out = text;
  else
    root.Fail("policy", parsed.message());
}

bool IsHeaderName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
}

void ReadKeys(Draft& draft, const MapReader& reader, TenantConfig* tenant) {
  std::vector<std::string> texts;
  if (!reader.Require("keys") || !reader.ReadTexts("keys", &texts)) return;
  if (texts.empty()) reader.Fail("keys", "must not be empty");
  for (size_t i = 0; i < texts.size(); ++i) {
    absl::StatusOr<std::string> digest = ResolveKeyDigest(texts[i], draft);
    if (digest.ok())
      tenant->keys.push_back(*std::move(digest));
    else
      reader.FailAt("keys", i, digest.status().message());
  }
}

}  // namespace

void ReadTenants(Draft& draft) {
  draft.tenants = draft.root.ReadMaps("tenants", SectionId::kTenant);
  for (const MapReader& reader : draft.tenants) {
    TenantConfig tenant;
    if (reader.Require("name")) reader.ReadText("name", &tenant.name);
    if (reader.Has("name") && tenant.name.empty()) reader.Fail("name", "must not be empty");
    ReadKeys(draft, reader, &tenant);
    reader.ReadNumber("weight", {0.001, 1e6}, &tenant.weight);
    reader.ReadText("max_class", &tenant.max_class);
    int64_t rate = 0;
    if (reader.ReadCount("tokens_per_minute", {1, 1'000'000'000'000}, &rate)) tenant.tokens_per_minute = rate;
    reader.ReadCount("max_concurrent", CountRange{1, 10'000'000}, &tenant.max_concurrent);
    draft.config.tenants.push_back(std::move(tenant));
  }
}

void ReadOtherSections(Draft& draft, const PolicyCheck& policies) {
  const MapReader& root = draft.root;
  Config& config = draft.config;
  ReadAddress(root, "listen", &config.listen);
  ReadAddress(root, "admin_listen", &config.admin_listen);
  root.ReadCount("threads", {0, 1024}, &config.threads);
  ReadPolicy(root, policies, &config.policy);
  if (root.ReadText("tenant_header", &config.tenant_header) && !IsHeaderName(config.tenant_header)) {
    root.Fail("tenant_header", "must be the name of a header: letters, digits, - and _");
  }
  if (const auto state = root.ReadMap("state", SectionId::kState)) state->ReadText("path", &config.state_path);
  if (const auto trace = root.ReadMap("trace", SectionId::kTrace)) ReadTraceModels(*trace, &config.trace);
  if (const auto limits = root.ReadMap("limits", SectionId::kLimits)) ReadLimits(*limits, &config.limits);
  if (const auto poll = root.ReadMap("poll", SectionId::kPoll)) {
    poll->ReadTime("interval", {Duration::Milliseconds(50), Duration::Seconds(60)}, &config.poll.interval);
  }
  if (const auto log = root.ReadMap("log", SectionId::kLog)) {
    log->ReadFlag("all_decisions", &config.log.all_decisions);
    log->ReadText("path", &config.log.path);
  }
}

}  // namespace penstock
