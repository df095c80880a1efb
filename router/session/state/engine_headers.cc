#include "router/session/state/engine_headers.h"

#include "absl/strings/str_cat.h"
#include "router/kv_events/session_tag.h"
#include "router/openai/request/header_rules.h"
#include "router/realtime/upgrade.h"

namespace penstock {

HeaderList EngineHeaders(const SessionState& state, RequestId request) {
  const TraceHeaders trace = HeadersOf(state.request.trace.get());
  const MoreHeaders more{state.engine().capabilities->request_headers, state.fleet->config().relay_headers,
                         state.loop.edge().pseudonym, trace.parent, trace.state};
  HeaderList headers = HeadersForEngine(*state.request.headers, state.engine().key, state.request.id, more);
  const absl::string_view rank_header = state.engine().capabilities->rank_header;
  if (state.request.endpoint == Endpoint::kRealtime) AddUpgrade(*state.request.headers, headers);
  if (state.engine().rank && !rank_header.empty()) headers.Add(rank_header, absl::StrCat(*state.engine().rank));
  // A client's own session passes instead.
  if (state.engine().tags_sessions && FindHeader(headers, kSessionTagHeader).empty()) {
    headers.Add(kSessionTagHeader, SessionTag(state.loop.edge().pseudonym, request));
  }
  return headers;
}

}  // namespace penstock
