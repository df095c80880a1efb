// A client that wants a whole answer, in front of a session that reads a stream.
//
// The session relays, resumes and requeues as for any stream. The events gather here, in the budget of answers. At the
// end the client gets one whole answer; before it, nothing but an error. Where the engine gives a whole answer all the
// same, it passes. Belongs to the loop of its session.
#ifndef PENSTOCK_ROUTER_SESSION_GATHERED_GATHERING_CLIENT_H_
#define PENSTOCK_ROUTER_SESSION_GATHERED_GATHERING_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "router/session/client/forwarding_client.h"
#include "router/session/gathered/gathered_stream.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/answer_memory.h"
#include "router/session/state/session_state.h"

namespace penstock {

class GatheringClient final : public ForwardingClient {
 public:
  // `headers`: those of the answer; asked for at its end. `on_sent`: the client has it.
  GatheringClient(const SessionState& state, Client& client, std::function<HeaderList()> headers,
                  std::function<void()> on_sent);

  Written Whole(int status, absl::string_view content_type, const HeaderList& headers, absl::string_view body) override;
  void BeginWhole(absl::string_view content_type, const HeaderList& headers, std::optional<uint64_t> length) override;
  Written Events(const HeaderList& headers, const std::vector<absl::string_view>& pieces) override;
  // Takes long events beside the loop.
  boost::asio::awaitable<bool> FinishEvents() override;
  boost::asio::awaitable<bool> End() override;
  boost::asio::awaitable<bool> Error(const ApiError& error) override;
  std::string unfit() const override;
  void Forget() override;
  // A comment would begin the answer.
  void KeepAlive(const HeaderList&) override {}
  bool begun() const override { return stream_ != nullptr || client().begun(); }

  // The end of an attempt whose answer cannot be gathered; none: it can.
  std::optional<AttemptEnd> Failure() const;

 private:
  enum class Trouble : uint8_t { kNone, kUnfit, kTooLong, kNoRoom };

  // `taken` is an error where the stream makes no answer.
  Written Judge(const absl::Status& taken);
  void Drop(Trouble trouble);
  boost::asio::awaitable<bool> Send(TextParts answer);

  const SessionState& state_;
  const std::function<HeaderList()> headers_;
  const std::function<void()> on_sent_;
  AnswerMemory memory_;
  std::unique_ptr<GatheredStream> stream_;  // Empty: nothing is gathered.
  Trouble trouble_ = Trouble::kNone;
  std::string fault_;  // Of the stream, for kUnfit.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_GATHERED_GATHERING_CLIENT_H_
