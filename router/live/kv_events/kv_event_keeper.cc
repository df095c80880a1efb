#include "router/live/kv_events/kv_event_keeper.h"

#include <string>

#include "base/clock.h"
#include "config/values/kv_event_address.h"

namespace penstock {
namespace {

constexpr Duration kTick = Duration::Milliseconds(500);

}  // namespace

std::vector<KvEventSource> KvEventSourcesOf(const FleetBook& book) {
  std::vector<KvEventSource> sources;
  for (uint32_t i = 0; i < book.fleet().replicas.size(); ++i) {
    const ReplicaId id(i);
    if (book.removed(id) || book.entry(id).vacant) continue;
    const auto& events = book.replica_config(id).kv_events;
    if (!events) continue;
    const int rank = book.entry(id).place ? book.entry(id).place->rank : 0;
    sources.push_back({id, book.fleet().replicas[i].name, KvEventAddressOfRank(events->endpoint, rank),
                       KvEventAddressOfRank(events->replay, rank)});
  }
  return sources;
}

void KvEventKeeper::Tick() {
  std::vector<KvEventSource> sources = KvEventSourcesOf(book_);
  if (sources != told_) {
    told_ = sources;
    thread_.SetSources(std::move(sources));
  }
  timer_.expires_after(ToChrono(kTick));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && !stopped_) Tick();
  });
}

}  // namespace penstock
