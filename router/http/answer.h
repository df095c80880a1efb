// The answer to one request: whole, or a stream of events; its head is held back until there is something to say.
//
// Adds x-request-id to everything. A stream that has to wait may be kept alive by comment lines, which sends its head;
// an error after that becomes the stream's last event. Used by one coroutine of one loop; SendComment is the exception,
// made for a deadline's callback: it only touches a client that is not being written to.
#ifndef PENSTOCK_ROUTER_HTTP_ANSWER_H_
#define PENSTOCK_ROUTER_HTTP_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/http/client_connection.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"

namespace penstock {

// A fresh id for a request that brought none: "req-" and 24 hexadecimal digits.
std::string NewRequestId();

class Answer {
 public:
  Answer(EventLoop& loop, ClientConnection& client, const ClientRequest& request, std::string request_id);

  // Each returns false when the client is gone.
  boost::asio::awaitable<bool> Whole(int status, absl::string_view content_type, const HeaderList& headers,
                                     absl::string_view body);
  // The same without waiting, and without a coroutine. kPart: `body` has to live until FinishWhole(), which has to be
  // called next.
  ClientConnection::Written WholeNow(int status, absl::string_view content_type, const HeaderList& headers,
                                     absl::string_view body);
  boost::asio::awaitable<bool> FinishWhole();
  // As a whole answer, or as the last events of a stream whose head is out.
  boost::asio::awaitable<bool> Error(const ApiError& error);
  // Events of a stream; the first call sends the head with `headers`. The pieces are written in one go.
  boost::asio::awaitable<bool> Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces);
  // The same without waiting, and without a coroutine. kPart: the rest is kept here, and FinishEvents() has to be
  // called next.
  ClientConnection::Written EventsNow(const HeaderList& headers, const std::vector<absl::string_view>& pieces);
  boost::asio::awaitable<bool> FinishEvents();
  // The end of a stream.
  boost::asio::awaitable<bool> End();
  // A comment line, with the head before it if that is not out. Nothing while a write is going on.
  void SendComment(const HeaderList& headers);

  bool head_sent() const { return head_sent_; }
  int status() const { return status_; }
  const std::string& request_id() const { return request_id_; }
  // The connection can take another request.
  bool KeepAlive() const;

 private:
  std::string StreamHead(const HeaderList& headers);

  EventLoop& loop_;
  ClientConnection& client_;
  const std::string request_id_;
  const bool http10_;
  const bool head_only_;
  bool keep_alive_;
  bool head_sent_ = false;
  bool writing_ = false;
  bool ended_ = false;
  int status_ = 0;
  std::string unsent_;  // Of events, or of a whole answer's head.
  absl::string_view unsent_body_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_ANSWER_H_
