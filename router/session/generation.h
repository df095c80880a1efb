// One request for an engine, from its body to its last byte: admission, attempts, relay, and the books at the end.
//
// Run() reads top to bottom as the life of the request. Whatever happens, its ticket reports one end to the core and
// one RequestRecord goes to the telemetry. The client is watched all the time: if it goes, the ticket is closed and the
// engine's connection with it, at once. Belongs to one loop; lives in its connection's coroutine.
#ifndef PENSTOCK_ROUTER_SESSION_GENERATION_H_
#define PENSTOCK_ROUTER_SESSION_GENERATION_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "backends/transport/upstream.h"
#include "router/http/answer.h"
#include "router/live/ticket.h"
#include "router/openai/answer/stream_relay.h"
#include "router/openai/request/body_splice.h"
#include "router/openai/request/request_scan.h"
#include "router/telemetry/active_tokens.h"

namespace penstock {

class Generation {
 public:
  Generation(EventLoop& loop, ClientConnection& client, ClientRequest&& request, Endpoint endpoint, Answer& answer);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  boost::asio::awaitable<void> Run();

 private:
  // How one attempt at an engine ended.
  struct AttemptEnd {
    enum class Kind {
      kFinished,
      kClientGone,
      kAborted,     // The core wants it back.
      kCut,         // The router ends.
      kPlaceAgain,  // The engine could not take it, or died before the client saw anything.
      kFailed,
      kRejected,  // The engine found the request bad.
    };
    Kind kind = Kind::kFinished;
    EngineErrorKind engine_error = EngineErrorKind::kServer;
    bool is_engine_error = false;
    std::unique_ptr<ApiError> error;  // Of ends with one. Apart, as the coroutines of a stream hold many ends.
  };
  struct Plan {
    bool stream_upstream = false;
    bool reassemble = false;
  };
  // What counts of the head of an engine's answer.
  struct Reply {
    int status = 0;
    bool event_stream = false;
    std::string type;
  };

  // Preparation; an error ends the request.
  std::optional<ApiError> PrepareAll();
  boost::asio::awaitable<void> TurnAway(ApiError error);
  std::optional<ApiError> Prepare();
  std::optional<ApiError> Place();
  std::optional<ApiError> ChargeTenant();
  bool Generates() const { return endpoint_ != Endpoint::kEmbeddings && endpoint_ != Endpoint::kRerank; }
  int64_t Sequences() const { return facts_.n * (Generates() ? facts_.prompts : 1); }
  void Arrive();
  boost::asio::awaitable<void> Serve();

  // None: there is none yet, the client is gone, or the request is cut.
  std::optional<Verdict> VerdictAtHand();
  // None: the client is gone, or the request is cut.
  boost::asio::awaitable<std::optional<Verdict>> AwaitVerdict();
  // By this loop's fleet, of which the core may not have heard yet.
  bool MayBeServed() const;
  boost::asio::awaitable<void> OnRefused(Refuse refuse);
  boost::asio::awaitable<void> OnCut();
  void OnForward(const Forward& forward);
  void Finish();
  // What follows an attempt that did not finish. False: the request is over.
  boost::asio::awaitable<bool> Settle(AttemptEnd end);
  void ReportHealth(const AttemptEnd& end);

  // generation_resume.cc
  // At most `limit`, and no longer than the answer may take in all.
  Duration Left(Duration limit) const;
  bool PastDeadline() const;
  // Another replica serves the model / some replica continues messages of the model.
  bool AnotherServes(bool continues) const;
  bool WorthAnother(EngineErrorKind kind) const;
  // Why the request is not placed again after this end; counts it.
  std::optional<ResumeResult> BarToAnother(const AttemptEnd& end);
  std::optional<ResumeResult> BarToResume() const;
  ApiError Uncontinued(const AttemptEnd& end, ResumeResult bar) const;
  void ReturnToCore(const AttemptEnd& end);
  // The client has every token that its limit allows.
  bool OnlyFinishMissing() const;
  // Ends a stream in the engine's stead. False: the client is gone.
  boost::asio::awaitable<bool> CloseAnswer(absl::string_view finish_reason);
  void NoteResume(ResumeResult result);
  // Counts the resume and tells it to a client that asked for the receipt, as a comment in the stream.
  boost::asio::awaitable<bool> AnnounceResume();

  // generation_attempt.cc
  boost::asio::awaitable<AttemptEnd> Attempt();
  std::optional<AttemptEnd> Unsuitable(const UpstreamPool* pool) const;
  boost::asio::awaitable<std::optional<AttemptEnd>> Begin(UpstreamPool& pool, const Plan& plan, Reply& reply);
  std::optional<AttemptEnd> TakeHead(const UpstreamHead& head, Reply& reply);
  boost::asio::awaitable<AttemptEnd> ReadEngineError(int status);
  boost::asio::awaitable<AttemptEnd> ReadWhole(const std::string& type);
  boost::asio::awaitable<AttemptEnd> ReadStream(bool reassemble);
  boost::asio::awaitable<AttemptEnd> EndStream(StreamRelay& relay);
  boost::asio::awaitable<AttemptEnd> SendAssembled(StreamRelay& relay);
  // Between reads: passes one piece on, at once if nothing has to be waited for.
  struct Passing;
  bool Pass(absl::string_view bytes, Passing& passing);
  boost::asio::awaitable<bool> Deliver(Passing& passing);
  void NoteDelivery(const StreamRelay& relay, Instant now);
  Plan MakePlan() const;
  SpliceOrder MakeOrder(const Plan& plan) const;
  bool IsInterrupted() const;
  std::optional<AttemptEnd> Interrupted() const;
  static AttemptEnd ClientGone();
  AttemptEnd Broken(EngineErrorKind kind, absl::string_view what) const;
  AttemptEnd FromReadError(const absl::Status& status, absl::string_view what, bool in_body) const;
  AttemptEnd FromEngineError(const EngineError& error, bool in_stream) const;
  const EngineSeat& seat() const { return fleet_->seats[forward_->replica.value()]; }

  // generation_record.cc
  void OnClientGone();
  void CloseTicket(Outcome outcome);
  void SettleCharge(const RequestClosed& closed);
  void Record(RequestOutcome outcome, absl::string_view reason);
  void LogEnd(const RequestRecord& record);
  void LogEngineError(const AttemptEnd& end);
  void LogRefusal(const ApiError& error, const Refuse& refuse);
  void LogForward();
  HeaderList AnswerHeaders() const;
  std::string ReceiptJson() const;
  std::string ReplicaName() const;

  EventLoop& loop_;
  ClientConnection& client_;
  ClientRequest request_;
  const Endpoint endpoint_;
  Answer& answer_;
  std::shared_ptr<const FleetView> fleet_;  // Of the arrival, then of the last attempt.
  const LimitsConfig limits_;

  RequestFacts facts_;
  Caller caller_;
  ClassChoice class_;
  ModelId model_;
  PromptEstimate estimate_;
  Instant arrival_;

  Signal wake_;
  TenantCharge charge_;
  std::unique_ptr<Ticket> ticket_;
  Deadline keep_alive_;
  std::optional<UpstreamExchange> exchange_;
  std::optional<Forward> forward_;
  RelayState state_;
  HeaderList engine_headers_;
  Instant answer_deadline_ = Instant::Never();
  int failures_ = 0;  // Attempts that did not come through.
  int failures_in_a_row_ = 0;
  int64_t delivered_at_failure_ = 0;
  int unreached_ = 0;        // Of them those whose engine could not be connected to; counted apart.
  bool resume_due_ = false;  // The client waits for its answer to go on.
  int resumes_ = 0;
  int attempts_ = 0;
  bool recorded_ = false;
  bool any_answer_ = false;  // The client has part of the answer.

  ActiveTokenCounter active_;
  std::optional<Instant> first_token_at_;
  Instant last_token_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_GENERATION_H_
