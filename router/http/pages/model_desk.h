// The list of models for all loops. It is made anew only when the fleet or the state of a replica has changed.
//
// A flood of questions so costs neither the core's lock nor the time of a loop. Thread-safe; owned by the server; lives
// longer than its askers.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_MODEL_DESK_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_MODEL_DESK_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/time/time.h"
#include "router/http/pages/model_list.h"
#include "router/http/pages/shared_making.h"
#include "router/session/client/client.h"

namespace penstock {

class ModelDesk {
 public:
  using List = std::shared_ptr<const ModelList>;

  // `maker` has a fleet before the first question.
  explicit ModelDesk(EventLoop& maker);
  // The birthday of all models: engines name another one at each answer.
  absl::Time since() const { return since_; }

  // Any thread. The list, or null where the fleet or a state changed since it was made: then Ask.
  List Current() const;
  // Any thread. Calls `done` on the loop that makes the list.
  void Ask(std::function<void(List)> done) { making_.Ask(std::move(done)); }

 private:
  // On the loop that makes the list.
  List Make();

  EventLoop& maker_;
  const absl::Time since_;
  SharedMaking<ModelList> making_;
  mutable std::mutex mutex_;  // Guards everything below.
  List latest_;
  uint64_t changes_ = 0;  // CoreHost::changes() before it was made.
};

// The list, in the coroutine of a client of the loop. Null: the client is gone.
boost::asio::awaitable<ModelDesk::List> ModelsNow(EventLoop& loop, Client& client);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_MODEL_DESK_H_
