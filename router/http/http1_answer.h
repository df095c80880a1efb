// The answer to one request as HTTP/1.1 on its connection: the Client of a session, and of the router's own pages.
//
// Adds x-request-id to everything. A stream is sent in chunks; KeepAlive sends its head and a comment line, and an
// error after that becomes the stream's last event. A whole answer in parts has a length or is sent in chunks; an error
// leaves it without its end and closes the connection. The answer to HEAD is its head alone. Used by one coroutine of
// one loop. KeepAlive may be called by a deadline meanwhile: it leaves a connection alone that is being written to.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP1_ANSWER_H_
#define PENSTOCK_ROUTER_HTTP_HTTP1_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/http/client_connection.h"
#include "router/http/exchange/answer.h"
#include "router/http/response_head.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"
#include "router/session/client/client.h"

namespace penstock {

class Http1Answer final : public Answer {
 public:
  Http1Answer(EventLoop& loop, ClientConnection& connection, const RequestHead& request);

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void SetStatus(int status) override { whole_status_ = status; }
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Part(absl::string_view bytes) override;
  boost::asio::awaitable<bool> FinishWhole() override;
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  boost::asio::awaitable<bool> FinishEvents() override;
  boost::asio::awaitable<bool> End() override;
  boost::asio::awaitable<LentSocket> Switch(const HeaderList& headers) override;
  // A comment line, with the head before it if that is not out. Not written where the socket has no room.
  void KeepAlive(const HeaderList& headers) override;

  bool begun() const override { return head_sent_; }
  int status() const override { return status_; }
  bool gone() const override { return connection_.gone(); }
  void Watch(std::function<void()> on_gone) override { connection_.Watch(std::move(on_gone)); }
  void Unwatch() override { connection_.Unwatch(); }

  bool CanTakeAnother() const override;

 private:
  bool BreakOff() override;
  // The head with what all answers have, and `headers`.
  ResponseHead HeadOf(int status, absl::string_view content_type, const HeaderList& headers) const;
  // The answer has to say that no other request will be read.
  bool MustClose() const;
  std::string StreamHead(const HeaderList& headers);
  // Writes both and notes the part that is left.
  Written WriteBoth(const std::string& first, absl::string_view second);

  EventLoop& loop_;
  ClientConnection& connection_;
  bool keep_alive_;
  bool head_sent_ = false;
  bool writing_ = false;
  bool ended_ = false;
  bool whole_ = false;                   // A whole answer has begun.
  bool chunks_ = false;                  // Its parts are chunks.
  int whole_status_ = http_status::kOk;  // That of a whole answer in parts.
  int status_ = 0;
  std::string unsent_;  // Of what precedes events, or the body of a whole answer.
  absl::string_view unsent_body_;
  std::vector<boost::asio::const_buffer> unsent_events_;  // With what precedes them.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_HTTP1_ANSWER_H_
