// The decision log: one JSON object per line, written off the request path.
//
// Refusals, errors and notices are always written; forwards, parks, aborts and ends only with Options::all. A line
// never holds a prompt, an answer or a key: the entry has no field for them. Write() moves the entry into a bounded
// queue under a short lock. A writer thread formats and writes; a full queue drops the entry and counts it.
// Thread-safe. The destructor writes the entries of the queue.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_DECISION_LOG_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_DECISION_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"

namespace penstock {

struct DecisionEntry {
  enum class Kind : uint8_t {
    kForward,
    kPark,
    kAbort,
    kEnd,  // A request ended well, or its client left.
    kRefuse,
    kError,   // A fault of an engine or a client, in `message`.
    kNotice,  // Start, reload, drain, replica up or down.
  };
  Kind kind = Kind::kNotice;
  // A field that is empty or unset is left out of the line. Strings are cut at 512 bytes, invalid UTF-8 is replaced.
  std::string request_id;
  std::string endpoint;
  std::string model;
  std::string service_class;
  std::string tenant;  // Configured name, never the key.
  std::string client;  // Its address, behind trusted proxies.
  std::string replica;
  std::string ended;   // kError: "attempt" where others may follow, "request" where none does.
  std::string reason;  // Label of a Refusal, BadInput or EngineErrorKind, or a wait reason.
  std::string message;
  std::optional<int> status;
  std::optional<Tokens> prompt_estimate;
  std::optional<Tokens> prompt;  // The engine counted them.
  std::optional<Tokens> max_output;
  std::optional<Tokens> output;
  std::optional<int64_t> position;  // Place in its lane, from one.
  std::optional<int64_t> bound;     // The broken bound.
  std::optional<int64_t> value;     // The value that broke it.
  std::optional<Duration> waited;
  std::optional<Duration> expected_ttft;
  std::optional<Duration> retry_after;
  std::optional<Duration> total;
  std::optional<double> peak_share;
};

// One of the newest entries, in the order in which they were made.
struct RecentDecision {
  uint64_t number = 0;      // From one.
  double unix_seconds = 0;  // Wall time.
  DecisionEntry entry;
};

const char* LabelOf(DecisionEntry::Kind kind);
// The line of one entry, without its line end. `unix_seconds` is the wall time.
std::string FormatDecision(const DecisionEntry& entry, double unix_seconds);

class DecisionLog {
 public:
  struct Options {
    std::string path;            // Empty: stderr. A file is appended to.
    bool all = false;            // Also forwards, parks, aborts and ends.
    size_t max_queued = 16'384;  // Entries; more are dropped.
    size_t keep_recent = 0;      // Newest entries of every kind that Recent() returns, whether they are written or not.
  };
  // PermissionDenied or NotFound when the file cannot be opened; the message names it.
  static absl::StatusOr<std::unique_ptr<DecisionLog>> Open(const Options& options);
  ~DecisionLog();
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  // True when Write() writes entries of this kind. Callers ask before they fill one in.
  bool Wants(DecisionEntry::Kind kind) const;
  void Write(DecisionEntry entry);
  // True: Write() takes every entry, for Recent().
  bool keeps_recent() const;
  // The newest entries, oldest first: Options::keep_recent at most.
  std::vector<RecentDecision> Recent() const;
  // Waits until every entry of the queue is written.
  void Flush();
  // Turns the lines of forwards, parks, aborts and ends on or off.
  void SetAll(bool all);
  // Opens the path anew (after a rotation), from the next line on. The old file stays in use if that fails.
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
