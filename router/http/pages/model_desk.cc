#include "router/http/pages/model_desk.h"

#include <utility>

#include "absl/time/clock.h"
#include "router/http/pages/made_aside.h"

namespace penstock {

ModelDesk::ModelDesk(EventLoop& maker)
    : maker_(maker), since_(absl::Now()), making_(maker, [this] { return Make(); }) {}

ModelDesk::List ModelDesk::Current() const {
  const uint64_t changes = maker_.edge().core->changes();
  std::lock_guard lock(mutex_);
  return changes == changes_ ? latest_ : nullptr;
}

ModelDesk::List ModelDesk::Make() {
  if (List current = Current()) return current;
  // Before the view: a change that comes between the two makes the list once more.
  const uint64_t changes = maker_.edge().core->changes();
  List made = std::make_shared<const ModelList>(maker_.fleet(), maker_.edge().core->View(), since_);
  std::lock_guard lock(mutex_);
  changes_ = changes;
  latest_ = made;
  return made;
}

boost::asio::awaitable<ModelDesk::List> ModelsNow(EventLoop& loop, Client& client) {
  ModelDesk& desk = *loop.edge().models;
  ModelDesk::List list = desk.Current();
  if (list == nullptr) {
    MadeAside<const ModelList> made(loop, client);
    const auto ask = [&desk](std::function<void(ModelDesk::List)> done) { desk.Ask(std::move(done)); };
    list = co_await made.From(ask);
  }
  co_return list;
}

}  // namespace penstock
