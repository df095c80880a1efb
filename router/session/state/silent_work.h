// Tells the watch over an engine that the engine works at a request which may be silent for long.
//
// Pictures, sound and configured paths make no tokens, and no step explains the time until a prompt with pictures has
// its first one. While such a request is at an engine, its silence is no sign of a hang; limits.first_byte_timeout
// holds. Lives as long as the attempt. Any loop.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_
#define PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_

#include <memory>

#include "router/session/state/session_state.h"

namespace penstock {

class SilentWork {
 public:
  // The engine of the state's decision.
  explicit SilentWork(const SessionState& state) {
    const Endpoint endpoint = state.request.endpoint;
    const bool silent =
        !IsQuick(endpoint) && endpoint != Endpoint::kRealtime && (PassesAnswer(endpoint) || state.facts().media.Any());
    if (silent) notes_ = state.engine().notes;
    if (notes_) notes_->BeginSilentWork();
  }
  ~SilentWork() {
    if (notes_) notes_->EndSilentWork();
  }
  SilentWork(const SilentWork&) = delete;
  SilentWork& operator=(const SilentWork&) = delete;

 private:
  std::shared_ptr<EngineNotes> notes_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_
