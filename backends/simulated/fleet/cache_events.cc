#include "backends/simulated/fleet/cache_events.h"

#include <utility>

#include "base/clock.h"
#include "config/values/kv_event_address.h"

namespace penstock::simulated {
namespace {

constexpr Duration kReplayTick = Duration::Milliseconds(50);

KvEventKind KindOf(CacheChange::Kind kind) {
  if (kind == CacheChange::Kind::kCleared) return KvEventKind::kCleared;
  return kind == CacheChange::Kind::kStored ? KvEventKind::kStored : KvEventKind::kRemoved;
}

}  // namespace

KvBatch BatchOf(const CacheJournal& changes, Tokens block, int rank) {
  KvBatch batch;
  batch.rank = rank;
  for (const CacheChange& change : changes) {
    const KvEventKind kind = KindOf(change.kind);
    if (kind == KvEventKind::kStored && !batch.events.empty()) {
      KvEvent& last = batch.events.back();
      const bool follows =
          last.kind == kind && change.parent && last.medium == "GPU" && last.blocks.back() == *change.parent;
      if (follows && last.session == change.session) {
        last.blocks.push_back(change.block);
        continue;
      }
    }
    KvEvent& event = batch.events.emplace_back();
    event.kind = kind;
    if (kind == KvEventKind::kCleared) continue;
    event.blocks = {change.block};
    event.parent = change.parent;
    event.block_size = change.host ? 0 : block.value();
    event.medium = change.host ? "CPU" : "GPU";
    event.session = change.session;
  }
  return batch;
}

absl::StatusOr<std::unique_ptr<CacheEvents>> CacheEvents::Begin(boost::asio::io_context& context, const Engine& engine,
                                                                const ReplicaKvEventsConfig& config, int rank) {
  auto publisher =
      EventPublisher::Bind(KvEventAddressOfRank(config.endpoint, rank), KvEventAddressOfRank(config.replay, rank));
  if (!publisher.ok()) return publisher.status();
  std::unique_ptr<CacheEvents> events(new CacheEvents(context, *std::move(publisher)));
  const auto publish = [to = events->publisher_.get(), block = engine.spec().limits.block,
                        rank](const CacheJournal& changes) { to->Publish(BatchOf(changes, block, rank)); };
  engine.spec().cache_feed->publish = publish;
  if (!config.replay.empty()) events->Tick();
  return events;
}

void CacheEvents::Tick() {
  publisher_->ServeReplays();
  timer_.expires_after(ToChrono(kReplayTick));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

}  // namespace penstock::simulated
