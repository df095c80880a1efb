// The log of the router: decisions, faults, notices and, if wanted, each request, one line each.
//
// Refusals, errors and notices are written as far as the level allows; forwards, parks, aborts and ends only with
// Wanted::all, requests only with Wanted::access. Write() moves the entry into a bounded queue under a short lock. A
// writer thread formats and writes; a full queue drops the entry and counts it. A disk that is full and a reader that
// stands still or leaves cost lines, which are counted, and nothing else. Once lines can be written again, the first
// one says how many are lost. The first write that a file refuses is said on stderr and in Recent(). Thread-safe. The
// destructor writes the entries of the queue.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_DECISION_LOG_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_DECISION_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "router/telemetry/log/log_line.h"

namespace penstock {

// One of the newest entries, in the order in which they were made.
struct RecentDecision {
  uint64_t number = 0;      // From one.
  double unix_seconds = 0;  // Wall time.
  DecisionEntry entry;
};

class DecisionLog {
 public:
  struct Options {
    std::string path;            // Empty: stderr. A file is appended to.
    bool all = false;            // Also forwards, parks, aborts and ends.
    size_t max_queued = 16'384;  // Entries; more are dropped.
    size_t keep_recent = 0;      // Newest entries that Recent() returns, whether they are written or not; no kAccess.
    LogLevel level = LogLevel::kInfo;  // Lines above it are left out. kDebug: as with `all`.
    bool access = false;               // Also a line for every HTTP request.
    LogFormat format = LogFormat::kAuto;
  };
  // PermissionDenied or NotFound when the file cannot be opened; the message names it.
  static absl::StatusOr<std::unique_ptr<DecisionLog>> Open(const Options& options);
  ~DecisionLog();
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  // True when Write() may write entries of this kind. Callers ask before they fill one in.
  bool Wants(DecisionEntry::Kind kind) const;
  void Write(DecisionEntry entry);
  // A notice of the process itself.
  void Note(std::string message, LogLevel level = LogLevel::kInfo);
  // True: Write() takes an entry of this kind for Recent(), although it writes no line. Under load this is a sample of
  // forwards and ends (recent_decisions.h).
  bool TakesRecent(DecisionEntry::Kind kind, Instant now);
  // The newest entries, oldest first: Options::keep_recent at most.
  std::vector<RecentDecision> Recent() const;
  // Waits until every entry of the queue is written.
  void Flush();
  // Takes these three of the options anew.
  void SetWanted(LogLevel level, bool all, bool access);
  // Opens the path anew (after a rotation), from the next line on. If that fails, stderr and Recent() say so, the old
  // file stays in use, and the path is tried again every second. Lines for an old file that was removed count as
  // dropped. A file that is removed while it is open is opened anew without a call.
  void Reopen();
  // Entries lost to a full queue, and lines that could not be written.
  int64_t dropped() const;

 private:
  struct State;
  explicit DecisionLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_DECISION_LOG_H_
