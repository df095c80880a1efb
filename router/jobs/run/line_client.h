// The client of one line of a batch: it gathers the answer in memory.
//
// A whole answer is stored as it comes. The events of a stream become a whole answer; one that cannot is unfit. An
// answer longer than kMost bytes is given up: the client is gone. Belongs to the loop of its session.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_LINE_CLIENT_H_
#define PENSTOCK_ROUTER_JOBS_RUN_LINE_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/dialect/assembly/stream_assembler.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/sse_splitter.h"
#include "router/jobs/schedule/line_rules.h"
#include "router/session/client/client.h"

namespace penstock::jobs {

class LineClient final : public Client {
 public:
  static constexpr size_t kMost = 16 << 20;

  explicit LineClient(Endpoint endpoint) : endpoint_(endpoint) {}

  // The batch ends, or the router.
  void Leave();

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Part(absl::string_view bytes) override;
  boost::asio::awaitable<bool> FinishWhole() override { co_return !gone(); }
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  boost::asio::awaitable<bool> FinishEvents() override { co_return !gone(); }
  boost::asio::awaitable<bool> End() override;
  std::string unfit() const override { return unfit_; }
  void Forget() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;
  void KeepAlive(const HeaderList&) override {}
  bool begun() const override { return status_ != 0; }
  int status() const override { return error_ ? error_->status : status_; }
  bool gone() const override { return left_ || too_long_; }
  void Watch(std::function<void()> on_gone) override { on_gone_ = std::move(on_gone); }
  void Unwatch() override { on_gone_ = nullptr; }

  // After the session's Run().
  LineResult result() const;
  // The body of the answer or of its error: a JSON value. Once.
  std::string TakeBody();

 private:
  bool Fits(size_t more);
  void Go();
  // The stream makes no answer.
  void GiveUp(absl::string_view why);

  const Endpoint endpoint_;
  std::string body_;
  int status_ = 0;
  bool ended_ = false;
  bool left_ = false;
  bool too_long_ = false;
  std::optional<SseSplitter> splitter_;
  std::optional<StreamAssembler> assembler_;
  std::string unfit_;
  std::optional<ApiError> error_;
  std::function<void()> on_gone_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_LINE_CLIENT_H_
