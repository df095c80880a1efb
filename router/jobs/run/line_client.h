// The client of one line of a batch: it gathers the answer in memory.
//
// A whole answer is stored as it comes. The events of a stream become a whole answer; one that cannot is unfit. All
// lines of a router are one caller of the answers' budget, so they leave half of it to others. A line that finds no
// room there runs again later. An answer that is longer than kMost, or than a third of the budget, is given up for
// good. Either way the client is gone. Belongs to the loop of its session.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_LINE_CLIENT_H_
#define PENSTOCK_ROUTER_JOBS_RUN_LINE_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "base/units.h"
#include "router/jobs/schedule/line_rules.h"
#include "router/live/event_loop.h"
#include "router/session/client/client.h"
#include "router/session/gathered/gathered_stream.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/text_parts.h"

namespace penstock::jobs {

class LineClient final : public Client {
 public:
  static constexpr size_t kMost = 16 << 20;

  // `budget`: the size of the answers' budget. Any thread.
  LineClient(EventLoop& loop, Bytes budget, Endpoint endpoint);

  // The batch ends, or the router.
  void Leave();

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Part(absl::string_view bytes) override;
  boost::asio::awaitable<bool> FinishWhole() override { co_return !gone(); }
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  // Takes long events beside the loop.
  boost::asio::awaitable<bool> FinishEvents() override;
  boost::asio::awaitable<bool> End() override;
  std::string unfit() const override { return unfit_; }
  void Forget() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;
  void KeepAlive(const HeaderList&) override {}
  bool begun() const override { return status_ != 0; }
  int status() const override { return error_ ? error_->status : status_; }
  bool gone() const override { return left_ || given_up_; }
  void Watch(std::function<void()> on_gone) override { on_gone_ = std::move(on_gone); }
  void Unwatch() override { on_gone_ = nullptr; }

  // After the session's Run().
  LineResult result() const;
  // The body of the answer or of its error, and the memory that it holds in the budget. Once.
  TextParts TakeBody();
  std::unique_ptr<AnswerMemory> TakeMemory() { return std::move(memory_); }

 private:
  // The answer takes so many bytes, and so much memory. False: it is given up.
  bool Holds(size_t bytes, size_t memory);
  void GiveUp(ApiError error);
  void Go();
  // `taken` is an error where the stream makes no answer.
  Written Judge(const absl::Status& taken);

  boost::asio::io_context& loop_;
  Edge& edge_;
  const Bytes budget_;
  const Endpoint endpoint_;
  std::unique_ptr<AnswerMemory> memory_;
  TextParts body_;
  int status_ = 0;
  bool ended_ = false;
  bool left_ = false;
  bool given_up_ = false;  // error_ tells why.
  std::unique_ptr<GatheredStream> stream_;
  std::string unfit_;
  std::optional<ApiError> error_;
  std::function<void()> on_gone_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_LINE_CLIENT_H_
