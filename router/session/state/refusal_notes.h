// The trace of a refusal that no session notes: its counts, and its line in the log.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_REFUSAL_NOTES_H_
#define PENSTOCK_ROUTER_SESSION_STATE_REFUSAL_NOTES_H_

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "router/live/event_loop.h"
#include "router/openai/error/http_status.h"
#include "router/telemetry/log/decision_log.h"

namespace penstock {

// Anybody can cause refusals of these statuses, as often as it likes. Returns the lines about them that were left out;
// nullopt: this one is left out too.
inline std::optional<int64_t> TakeRefusalLine(Edge& edge, int status) {
  if (status == http_status::kUnauthorized) return edge.denied_lines.Take(Now());
  if (status == http_status::kNotFound) return edge.unknown_lines.Take(Now());
  return 0;
}

struct RefusalNote {
  std::string request_id;
  boost::asio::ip::address client;  // Unspecified: it is not known.
  int status = 0;
  std::string reason;
};

// Other errors than refusals are only counted by their status.
inline void NoteRefusal(Edge& edge, RefusalNote note) {
  if (!edge.telemetry->OnRefusal(note.status, note.reason) || edge.log == nullptr) return;
  const std::optional<int64_t> suppressed = TakeRefusalLine(edge, note.status);
  if (!suppressed) return;
  DecisionEntry entry;
  entry.kind = DecisionEntry::Kind::kRefuse;
  entry.request_id = std::move(note.request_id);
  if (!note.client.is_unspecified()) entry.client = note.client.to_string();
  entry.status = note.status;
  entry.reason = std::move(note.reason);
  entry.suppressed = *suppressed;
  edge.log->Write(std::move(entry));
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_REFUSAL_NOTES_H_
