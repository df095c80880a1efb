// One run of a line: a session without a socket, on one of the loops of clients. It ends with the row of its answer.
//
// Made and owned on the home loop, which hears its news. Its session lives on the other loop, and keeps it until the
// end. Begin and Leave are called on the home loop; all else is marked.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_LINE_RUN_H_
#define PENSTOCK_ROUTER_JOBS_RUN_LINE_RUN_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/dialect/endpoint.h"
#include "backends/dialect/usage.h"
#include "router/jobs/batch/answer_row.h"
#include "router/jobs/run/line_client.h"
#include "router/jobs/schedule/job_schedule.h"
#include "router/jobs/schedule/line_rules.h"
#include "router/jobs/store/job_values.h"
#include "router/live/event_loop.h"
#include "router/openai/request/header_rules.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/inside_request.h"

namespace penstock::jobs {

// A line that was read, and may run.
struct LineTask {
  Line line;
  std::string custom_id;
  std::string body;
  uint64_t lane = 0;
  int faults = 0;  // Faults of engines in earlier runs.
  int64_t bytes() const { return static_cast<int64_t>(body.size()); }
};

// The names under which a line runs.
struct LineOrders {
  BatchKey job;
  Endpoint endpoint = Endpoint::kChat;
  std::string id;
  Caller caller;
  std::string service_class;
};

class LineRun final : public std::enable_shared_from_this<LineRun>, private SessionObserver {
 public:
  enum class News : uint8_t { kPlaced, kUnplaced, kEnded };
  // Called on the home loop.
  using Listener = std::function<void(const std::shared_ptr<LineRun>&, News)>;

  LineRun(EventLoop& home, EventLoop& loop, LineTask line_task, LineOrders orders, LinePlace its_place,
          Listener listener);

  void Begin();
  // Ends it without an answer; `waiting_only`: unless it is at an engine.
  void Leave(bool waiting_only);

  BatchKey job() const { return orders_.job; }
  Endpoint endpoint() const { return orders_.endpoint; }
  const std::string& id() const { return orders_.id; }

  // The session's while it runs; after kEnded the listener's.
  LineTask task;
  LineResult result;
  std::string refusal;  // Its status, and its body where that is short.
  AnswerRow row;
  std::unique_ptr<AnswerMemory> memory;  // The row's. Null where there is none.
  Usage usage;
  // The listener's.
  LinePlace place;

 private:
  void OnForward() override;
  void OnRequeue() override;
  void OnAnswered(const Usage& counted) override { usage = counted; }
  void Tell(News news);
  static boost::asio::awaitable<void> Run(std::shared_ptr<LineRun> self);
  boost::asio::awaitable<void> Ask();
  // Makes the row of the answer; of a long one beside the loop.
  boost::asio::awaitable<void> MakeRow();

  EventLoop& home_;
  EventLoop& loop_;
  const LineOrders orders_;
  const Listener listener_;
  // The session's.
  InsideRequest inside_;
  HeaderList headers_;
  LineClient client_;
  bool at_engine_ = false;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_LINE_RUN_H_
