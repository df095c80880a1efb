// The line of the access log about one request.
//
// Exists only while the log wants such lines. The session fills in its record; requests without a session have method,
// path, status, bytes and time. A request that ends by an exception has its line too. Belongs to the request's loop.
#ifndef PENSTOCK_ROUTER_HTTP_ACCESS_LINE_H_
#define PENSTOCK_ROUTER_HTTP_ACCESS_LINE_H_

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "router/http/exchange/answer.h"
#include "router/http/exchange/client_channel.h"
#include "router/http/peer/forwarded_for.h"
#include "router/http/request/request_head.h"
#include "router/openai/route/target.h"
#include "router/telemetry/log/text_limits.h"
#include "router/telemetry/request_record.h"

namespace penstock {

class AccessLine {
 public:
  // Null: nobody wants it. `received`: the bytes of a body that came whole. `answer` outlives the line.
  static std::unique_ptr<AccessLine> Begin(EventLoop& loop, ClientChannel& client, const RequestHead& head,
                                           size_t received, const Answer& answer) {
    const DecisionLog* log = loop.edge().log;
    if (log == nullptr || !log->Wants(DecisionEntry::Kind::kAccess)) return nullptr;
    return std::make_unique<AccessLine>(loop, client, head, received, answer);
  }
  AccessLine(EventLoop& loop, ClientChannel& client, const RequestHead& head, size_t received, const Answer& answer)
      : loop_(loop),
        client_(client),
        answer_(answer),
        began_(Now()),
        received_(received),
        written_before_(client.written()) {
    entry_.kind = DecisionEntry::Kind::kAccess;
    entry_.method = head.method.substr(0, kLongestLogText);
    const absl::string_view path = OriginForm(head.target);
    entry_.path = std::string(path.substr(0, std::min(path.find_first_of("?#"), kLongestLogText)));
    const auto address = ClientAddress(loop.fleet()->proxies, client.peer().address, head.headers);
    if (!address.is_unspecified()) entry_.client = address.to_string();
  }

  AccessLine(const AccessLine&) = delete;
  AccessLine& operator=(const AccessLine&) = delete;
  // The request has ended: writes the line.
  ~AccessLine() {
    try {
      Write();
      // NOLINTNEXTLINE(bugprone-empty-catch)
    } catch (const std::exception&) {  // No memory for it: the request ends without its line.
    }
  }

  RequestRecord* record() { return &record_; }

 private:
  void Write() {
    entry_.request_id = answer_.request_id();
    entry_.trace_id = answer_.trace_id();
    // A request without an answer has no status, unless its client left.
    if (answer_.status() != 0) entry_.status = answer_.status();
    if (answer_.status() == 0 && answer_.gone()) entry_.status = http_status::kClientClosedRequest;
    entry_.received = Bytes(static_cast<int64_t>(std::max(received_, client_.upload().taken())));
    entry_.sent = Bytes(static_cast<int64_t>(client_.written() - written_before_));
    entry_.total = Now() - began_;
    entry_.endpoint = std::move(record_.endpoint);
    entry_.model = std::move(record_.model);
    entry_.service_class = std::move(record_.service_class);
    entry_.tenant = std::move(record_.tenant);
    entry_.replica = std::move(record_.replica);
    entry_.reason = std::move(record_.reason);
    if (entry_.reason.empty()) entry_.reason = answer_.refusal_reason();
    if (record_.prompt > Tokens(0)) {
      entry_.prompt = record_.prompt;
    } else if (const Tokens estimate = record_.ComputedPrompt(); estimate > Tokens(0)) {
      entry_.prompt_estimate = estimate;
    }
    if (record_.output > Tokens(0)) entry_.output = record_.output;
    entry_.waited = record_.queue_wait;
    entry_.ttft = record_.ttft;
    loop_.edge().log->Write(std::move(entry_));
  }

  EventLoop& loop_;
  ClientChannel& client_;
  const Answer& answer_;
  const Instant began_;
  const uint64_t received_;
  const uint64_t written_before_;
  DecisionEntry entry_;
  RequestRecord record_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_ACCESS_LINE_H_
