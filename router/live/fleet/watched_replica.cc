#include "router/live/fleet/watched_replica.h"

#include <utility>

#include "base/clock.h"

namespace penstock {

WatchedReplica::WatchedReplica(EventLoop& loop, ReplicaId the_id, ReplicaConfig the_config)
    : id(the_id),
      config(std::move(the_config)),
      health(Now()),
      pause(loop.io()),
      rereading{RereadTimes(the_id.value())} {}

absl::Status WatchedReplica::Connect(EventLoop& loop, const std::string& url) {
  auto parsed = ParseUpstreamUrl(url);
  if (!parsed.ok()) return parsed.status();
  if (parsed->tls) {
    const EngineTlsConfig given = config.tls.value_or(EngineTlsConfig());
    auto context = TlsContext::ForClient(given.ca.text, TlsIdentity{given.certificate.text, given.key.text});
    if (!context.ok()) return context.status();
    tls = *std::move(context);
  }
  address = *parsed;
  pool = std::make_shared<UpstreamPool>(loop.io(), *std::move(parsed), PoolOptions());
  return absl::OkStatus();
}

UpstreamPool::Options WatchedReplica::PoolOptions() const {
  UpstreamPool::Options options;
  options.tls = tls;
  if (tls != nullptr && config.tls) options.server_name = config.tls->server_name;
  return options;
}

void WatchedReplica::Note(Health seen) const {
  notes->wants_answers.store(seen != Health::kUp, std::memory_order_relaxed);
  notes->health.store(seen, std::memory_order_relaxed);
  const bool away = sleeper != nullptr && sleeper->residency() != Residency::kAwake;
  notes->away.store(away, std::memory_order_relaxed);
}

EngineAccess WatchedReplica::Access(const FleetEntry& rank) const {
  EngineAccess access;
  access.key = config.key;
  access.address = address;
  access.tls = tls;
  if (config.tls) access.server_name = config.tls->server_name;
  if (scraper) access.capabilities = scraper->engine().capabilities;
  access.notes = notes;
  if (rank.place) access.rank = rank.place->place;
  access.tags_sessions = config.kv_events.has_value();
  access.speculates = rank.discovery && rank.discovery->speculates;
  return access;
}

}  // namespace penstock
