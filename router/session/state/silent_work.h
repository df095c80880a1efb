// Tells the watch over an engine that the engine has a request which may show no work for long.
//
// Pictures, sound and configured paths make no tokens, and no step explains the time until a prompt with pictures has
// its first one. While such a request is at an engine, its silence is no sign of a hang; limits.first_byte_timeout
// holds. This lives until the first token, or as long as the attempt. A WebSocket may leave the engine idle as long as
// it is open. Any loop.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_
#define PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_

#include <memory>
#include <utility>

#include "router/live/fleet_view.h"

namespace penstock {

class SilentWork {
 public:
  // `count` has such requests.
  explicit SilentWork(std::shared_ptr<EngineNotes> notes, EngineNotes::Count count = &EngineNotes::work_in_silence)
      : notes_(std::move(notes)), count_(count) {
    Add(1);
  }
  ~SilentWork() { Add(-1); }
  SilentWork(const SilentWork&) = delete;
  SilentWork& operator=(const SilentWork&) = delete;

 private:
  void Add(int change) {
    if (notes_) ((*notes_).*count_).fetch_add(change, std::memory_order_relaxed);
  }

  const std::shared_ptr<EngineNotes> notes_;
  const EngineNotes::Count count_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_SILENT_WORK_H_
