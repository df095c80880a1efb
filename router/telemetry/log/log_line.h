// The forms of one log line: a JSON object, or text for a person at a terminal. Pure.
//
// A line never holds a prompt, an answer or a key: the entry has no field for them. Whatever a client names stays
// inside the quotes of its field, and control characters are escaped.
#ifndef PENSTOCK_ROUTER_TELEMETRY_LOG_LOG_LINE_H_
#define PENSTOCK_ROUTER_TELEMETRY_LOG_LOG_LINE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/log_form.h"
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
    kAccess,  // An HTTP request was answered.
  };
  Kind kind = Kind::kNotice;
  // Unset: that of its kind.
  std::optional<LogLevel> level;
  // A field that is empty or unset is left out of the line. Strings are cut at 512 bytes, the message of a notice at
  // 4096; invalid UTF-8 is replaced.
  std::string request_id;
  std::string trace_id;
  std::string method;
  std::string path;  // Without its query, which may hold a key.
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
  int64_t suppressed = 0;           // Lines of the reason that were left out since the last one (line_sampler.h).
  std::optional<Bytes> received;    // The body of the request.
  std::optional<Bytes> sent;        // The answer with its head.
  std::optional<Duration> waited;
  std::optional<Duration> ttft;
  std::optional<Duration> expected_ttft;
  std::optional<Duration> retry_after;
  std::optional<Duration> total;
  std::optional<double> peak_share;
};

const char* LabelOf(DecisionEntry::Kind kind);
// The entry's own level, or that of its kind.
LogLevel LevelOf(const DecisionEntry& entry);

// RFC 3339 in UTC, with microseconds.
std::string FormatTime(double unix_seconds);

// The line of one entry, without its line end. `unix_seconds` is the wall time.
std::string FormatDecision(const DecisionEntry& entry, double unix_seconds);
// The same as text: time, level, event, message, then NAME=VALUE.
std::string FormatText(const DecisionEntry& entry, double unix_seconds);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_LOG_LOG_LINE_H_
