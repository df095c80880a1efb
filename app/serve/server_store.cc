// The job store of the router: its start and its faults.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/serve/server.h"
#include "app/serve/server_parts.h"
#include "base/clock.h"
#include "router/telemetry/edge_metrics.h"

namespace penstock {
namespace {

void NoteLeftovers(const jobs::StoreLeftovers& found, const std::string& folder, DecisionLog& log) {
  if (found.uploads > 0) {
    log.Note(absl::StrCat("state.path: removed ", found.uploads, " unfinished uploads from ", folder, "/uploads"));
  }
  if (found.no_reserve) {
    log.Note(absl::StrCat("state.path: the disk has no room for the reserve in ", folder,
                          "/reserve; while it is full, it may refuse to delete files and to cancel batches"),
             LogLevel::kWarning);
  }
  if (found.unknown == 0) return;
  log.Note(absl::StrCat("state.path: moved ", found.unknown, " files that jobs.db does not know to ", folder,
                        "/unknown; a kill leaves one or two, more tell of a lost or older jobs.db or jobs.db-wal"),
           LogLevel::kWarning);
}

}  // namespace

absl::Status RouterServer::OpenStore(Parts& p) {
  const StateConfig& state = p.config.state;
  if (state.path.empty()) return absl::OkStatus();
  auto opened = jobs::JobThread::Open(state.path, StoreLimitsOf(state), [&p](const jobs::JobError& fault) {
    p.telemetry.store().OnFault(fault.kind);
    const auto suppressed = p.edge.store_lines.Take(Now());
    if (!suppressed) return;
    DecisionEntry entry;
    entry.suppressed = *suppressed;
    entry.kind = DecisionEntry::Kind::kError;
    entry.reason = std::string(RowOf(ErrorName::kJobStoreFailed).label);
    entry.message = absl::StrCat("state.path: ", fault.message);
    p.reports.log->Write(std::move(entry));
  });
  if (!opened.ok()) return absl::InvalidArgumentError(absl::StrCat("state.path: ", opened.error().message));
  p.store = *std::move(opened);
  NoteLeftovers(p.store->leftovers(), state.path, *p.reports.log);
  p.edge.jobs = p.store.get();
  return absl::OkStatus();
}

std::string RouterServer::Awaited() const {
  const Parts& p = *parts_;
  const auto busy = p.store == nullptr ? std::nullopt : p.store->BusyFor();
  if (!busy) return "the event loops";
  return absl::StrCat("the thread of the job store, for ", busy->count(), " s in one call on ", p.config.state.path);
}

}  // namespace penstock
