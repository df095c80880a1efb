// The answer to one request as HTTP/2 on its stream.
//
// A whole answer that breaks off resets its stream; the other streams of the connection go on. Used by one coroutine of
// one loop. KeepAlive may be called by a deadline meanwhile: it leaves a stream alone whose bytes wait.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_ANSWER_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/http/exchange/answer.h"
#include "router/http/http2/answer_head.h"
#include "router/http/http2/stream.h"

namespace penstock::http2 {

class StreamAnswer final : public Answer {
 public:
  StreamAnswer(EventLoop& loop, Stream& stream, const RequestHead& request) : Answer(loop, request), stream_(stream) {}

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void SetStatus(int status) override { whole_status_ = status; }
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Part(absl::string_view bytes) override;
  boost::asio::awaitable<bool> FinishWhole() override { return stream_.Drain(); }
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  boost::asio::awaitable<bool> FinishEvents() override { return stream_.Drain(); }
  boost::asio::awaitable<bool> End() override;
  void KeepAlive(const HeaderList& headers) override;

  bool begun() const override { return status_ != 0; }
  int status() const override { return status_; }
  bool gone() const override { return stream_.gone(); }
  void Watch(std::function<void()> on_gone) override { stream_.Watch(std::move(on_gone)); }
  void Unwatch() override { stream_.Unwatch(); }

  bool CanTakeAnother() const override { return ended_; }

 private:
  bool BreakOff() override;
  // The head, if it is not out. `ended`: nothing follows it.
  void BeginStream(const HeaderList& headers);
  void Begin(int status, const AnswerHead& head, bool ended);

  Stream& stream_;
  std::optional<AnswerHead> held_;  // The head of a whole answer in parts that has not begun.
  bool whole_ = false;
  bool ended_ = false;
  int whole_status_ = http_status::kOk;  // That of a whole answer in parts.
  int status_ = 0;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_STREAM_ANSWER_H_
