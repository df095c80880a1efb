#include "router/live/fleet/elastic_keeper.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "router/core/contract/action.h"
#include "router/live/fleet/notice.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace {

static_assert(static_cast<size_t>(SegmentFault::kHeld) + 1 == kSegmentResultLabels.size());
SegmentResult ResultOf(SegmentFault fault) { return static_cast<SegmentResult>(fault); }

}  // namespace

ElasticKeeper::ElasticKeeper(EventLoop& control, const FleetBook& book)
    : control_(control), book_(book), timer_(control.io()) {}

void ElasticKeeper::Start() { Look(); }

void ElasticKeeper::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void ElasticKeeper::Log(ReplicaId replica, std::string message, LogLevel level) const {
  LogNotice(control_.edge(), book_.replica_config(replica).id, std::move(message), level);
}

Bytes ElasticKeeper::MemoryOf(ReplicaId replica) const {
  const Fleet& fleet = book_.fleet();
  Bytes memory(0);
  for (const uint32_t gpu : fleet.replicas[replica.value()].gpus) {
    const Bytes whole = gpu < fleet.gpus.size() ? fleet.gpus[gpu].memory + fleet.gpus[gpu].elastic : Bytes(0);
    if (whole <= Bytes(0)) return kMostSegmentMemory;
    memory += whole;
  }
  return memory > Bytes(0) ? memory : kMostSegmentMemory;
}

void ElasticKeeper::Look() {
  for (uint32_t i = 0; i < book_.fleet().replicas.size(); ++i) {
    const ReplicaId id(i);
    const std::optional<ReplicaElasticConfig>& elastic = book_.replica_config(id).elastic;
    if (!elastic || book_.removed(id)) {
      segments_.erase(id);
      continue;
    }
    Segment& segment = segments_[id];
    std::string path = SegmentPath(elastic->segment);
    if (segment.path != path) segment = Segment{std::move(path), {}, {}, {}, {}};
    LookAt(id, segment);
  }
  // A configuration without a segment may get one by a reload.
  timer_.expires_after(ToChrono(book_.config().poll.interval));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && !stopped_) Look();
  });
}

void ElasticKeeper::LookAt(ReplicaId replica, Segment& segment) {
  if (segment.order) Write(replica, segment);
  const Instant now = Now();
  const SegmentRead read = ReadSegment(segment.path, MemoryOf(replica));
  control_.edge().telemetry->engines().OnSegment(book_.replica_config(replica).id, /*write=*/false,
                                                 ResultOf(read.fault));
  // A writer holds the lock for a moment; one that keeps it shows in the metrics and in the age of the values.
  const bool news = segment.last != read.fault;
  segment.last = read.fault;
  if (read.fault != SegmentFault::kNone) {
    if (news) {
      Log(replica, absl::StrCat("segment ", segment.path, " cannot be read: ", read.message), LogLevel::kWarning);
    }
    return;
  }
  if (news) Log(replica, absl::StrCat("segment is read: limit ", read.values.limit.value(), " bytes"));
  const std::optional<Bytes> written = std::exchange(segment.written, std::nullopt);
  if (written && *written != read.values.limit) {
    Log(replica, absl::StrCat("limit ", written->value(), " was written and reads back as ", read.values.limit.value(),
                              "; somebody else moves it, and the router leaves it alone for a while"));
  }
  control_.edge().core->Submit(
      ElasticReport{replica, now, read.values.limit, read.values.used, read.values.preallocated});
}

void ElasticKeeper::Write(ReplicaId replica, Segment& segment) {
  const Bytes limit = *segment.order;
  const SegmentRead wrote = WriteLimit(segment.path, limit, MemoryOf(replica));
  control_.edge().telemetry->engines().OnSegment(book_.replica_config(replica).id, /*write=*/true,
                                                 ResultOf(wrote.fault));
  if (wrote.fault == SegmentFault::kNone) {
    segment.order.reset();
    segment.written = limit;
    return Log(replica, absl::StrCat("limit ", limit.value(), " is written"));
  }
  if (Now() - segment.ordered_at < kShareReadBack) return;
  segment.order.reset();
  Log(replica,
      absl::StrCat("limit ", limit.value(), " could not be written: ", wrote.message,
                   "; the router leaves it alone for a while"),
      LogLevel::kWarning);
}

void ElasticKeeper::OnOrder(const SetShare& order) {
  const auto found = segments_.find(order.replica);
  if (stopped_ || found == segments_.end()) return;
  found->second.order = order.limit;
  found->second.ordered_at = Now();
  Write(order.replica, found->second);
}

}  // namespace penstock
