// Tells the watch over an engine that the engine works at a request which may be silent for long.
//
// Pictures, sound and configured paths make no tokens, and no step explains the time until a prompt with pictures has
// its first one. While such a request is at an engine, its silence is no sign of a hang; limits.first_byte_timeout
// holds. Lives until the first token, or as long as the attempt. Any loop.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_
#define PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_

#include <memory>
#include <utility>

#include "router/live/fleet_view.h"

namespace penstock {

class SilentWork {
 public:
  explicit SilentWork(std::shared_ptr<EngineNotes> notes) : notes_(std::move(notes)) {
    if (notes_) notes_->BeginSilentWork();
  }
  ~SilentWork() {
    if (notes_) notes_->EndSilentWork();
  }
  SilentWork(const SilentWork&) = delete;
  SilentWork& operator=(const SilentWork&) = delete;

 private:
  const std::shared_ptr<EngineNotes> notes_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_
