#include "router/live/ticket.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/live/recording_core.h"

namespace penstock {
namespace {

struct Holder final : TicketHolder {
  void OnVerdict() override { ++verdicts; }
  bool OnAbort(AbortReason) override {
    ++aborts;
    return !declines;
  }
  void OnCut() override { ++cuts; }
  void OnReplicaLost(ReplicaId, EngineLoss) override { ++lost; }
  int verdicts = 0;
  int aborts = 0;
  bool declines = false;
  int cuts = 0;
  int lost = 0;
};

// The test's thread is the thread of the loop.
class Tickets : public testing::Test {
 protected:
  Tickets() {
    edge_.core = &core_;
    edge_.board = &board_;
    loop_.mailbox().OwnThisThread();
    ticket_.emplace(loop_, holder_);
  }

  Forward ForwardWith(uint64_t lease) {
    return Forward{ticket_->id(), ReplicaId(3), LeaseId(lease), Duration(), Duration(), 0};
  }
  // The core answers the arrival with these actions.
  void Arrive(std::vector<Action> actions) {
    record_.answer = [actions](const Event& event) {
      return std::holds_alternative<RequestArrived>(event) ? actions : std::vector<Action>();
    };
    ticket_->Arrive(RequestArrived(), CoreHost::Prompt());
  }
  std::vector<RequestClosed> closed() const { return record_.Of<RequestClosed>(); }

  CoreRecord record_;
  boost::asio::io_context timers_;
  Edge edge_;
  EventLoop loop_{2, edge_};
  CoreHost core_{
      std::make_unique<RecordingCore>(record_), timers_, {&loop_.mailbox(), &loop_.mailbox(), &loop_.mailbox()}, {}};
  ProgressBoard board_{3};
  Holder holder_;
  std::optional<Ticket> ticket_;
};

TEST_F(Tickets, ItsIdNamesItsLoopAndIsItsOwn) {
  Ticket other(loop_, holder_);
  EXPECT_EQ(LoopOf(ticket_->id()), 2u);
  EXPECT_NE(other.id(), ticket_->id());
}

TEST_F(Tickets, AnArrivalHasTheIdOfTheTicketAndItsAnswerReachesTheHolder) {
  Arrive({ForwardWith(5)});
  EXPECT_EQ(record_.Of<RequestArrived>().at(0).request, ticket_->id());
  EXPECT_EQ(holder_.verdicts, 1);
  const std::optional<Verdict> verdict = ticket_->TakeVerdict();
  ASSERT_TRUE(verdict && std::holds_alternative<Forward>(*verdict));
  EXPECT_EQ(std::get<Forward>(*verdict).lease, LeaseId(5));
  EXPECT_FALSE(ticket_->TakeVerdict()) << "a verdict is taken once";
}

TEST_F(Tickets, AParkIsTakenOnceAndIsNoVerdict) {
  Arrive({Park{ticket_->id(), WaitReason::kMemory, 4}});
  EXPECT_EQ(holder_.verdicts, 0);
  const std::optional<Park> park = ticket_->TakePark();
  ASSERT_TRUE(park);
  EXPECT_EQ(park->position, 4);
  EXPECT_FALSE(ticket_->TakePark());
  EXPECT_TRUE(ticket_->open());
}

TEST_F(Tickets, ATicketThatIsDestroyedOpenClosesAsAVanishedClient) {
  Arrive({ForwardWith(5)});
  const RequestId id = ticket_->id();
  ticket_.reset();
  ASSERT_EQ(closed().size(), 1u);
  EXPECT_EQ(closed()[0].request, id);
  EXPECT_EQ(closed()[0].outcome, Outcome::kClientGone);
}

TEST_F(Tickets, ATicketThatNeverArrivedTellsTheCoreNothing) {
  ticket_.reset();
  EXPECT_TRUE(record_.events.empty());
}

TEST_F(Tickets, TheEndIsReportedOnce) {
  Arrive({ForwardWith(5)});
  RequestClosed end;
  end.output = Tokens(7);
  ticket_->Close(end);
  ticket_->Close(end);
  ticket_.reset();
  ASSERT_EQ(closed().size(), 1u);
  EXPECT_EQ(closed()[0].outcome, Outcome::kFinished);
  EXPECT_EQ(closed()[0].output, Tokens(7));
}

// The core has forgotten a request that it refused.
TEST_F(Tickets, ARefusedTicketIsClosedWithoutAnEvent) {
  Arrive({Refuse{ticket_->id(), Refusal::kQueueFull, Duration::Seconds(1), 0, 0}});
  EXPECT_FALSE(ticket_->open());
  EXPECT_TRUE(std::holds_alternative<Refuse>(ticket_->TakeVerdict().value()));
  ticket_->Requeue(Tokens(0), false);
  ticket_.reset();
  EXPECT_EQ(record_.events.size(), 1u);
}

TEST_F(Tickets, AnAbortOfAnEarlierLeaseIsVoid) {
  Arrive({ForwardWith(5)});
  ticket_->Deliver(Abort{ticket_->id(), LeaseId(4)});
  EXPECT_FALSE(ticket_->abort_requested());
  EXPECT_EQ(holder_.aborts, 0);
  ticket_->Deliver(Abort{ticket_->id(), LeaseId(5)});
  EXPECT_TRUE(ticket_->abort_requested());
  EXPECT_EQ(holder_.aborts, 1);
}

TEST_F(Tickets, ADeclinedAbortTellsTheCoreOnceThatTheAnswerIsFixed) {
  Arrive({ForwardWith(5)});
  holder_.declines = true;
  ticket_->Deliver(Abort{ticket_->id(), LeaseId(5), AbortReason::kParking});
  ticket_->Deliver(Abort{ticket_->id(), LeaseId(5), AbortReason::kParking});
  EXPECT_FALSE(ticket_->abort_requested());
  ticket_->FixAnswer();
  ASSERT_EQ(record_.events.size(), 2u);
  EXPECT_EQ(std::get<AnswerFixed>(record_.events[1].first).request, ticket_->id());
}

TEST_F(Tickets, ARequeueForgetsTheAbortAndThePark) {
  Arrive({Park{ticket_->id(), WaitReason::kMemory, 4}, ForwardWith(5), Abort{ticket_->id(), LeaseId(5)}});
  EXPECT_TRUE(ticket_->abort_requested());
  ticket_->Requeue(Tokens(12), true);
  EXPECT_FALSE(ticket_->abort_requested());
  EXPECT_FALSE(ticket_->TakePark());
  ASSERT_EQ(record_.Of<RequestRequeued>().size(), 1u);
  EXPECT_EQ(record_.Of<RequestRequeued>()[0].generated, Tokens(12));
  EXPECT_TRUE(record_.Of<RequestRequeued>()[0].avoid_replica);
}

TEST_F(Tickets, TheFirstTokenIsToldOnceAndItsCounterIsSampledUntilTheEnd) {
  Arrive({ForwardWith(5)});
  TokenCounter counter;
  counter.Count(1, Instant::FromSeconds(1));
  ticket_->OnFirstToken(counter, ReplicaId(3), 1);
  ticket_->OnFirstToken(counter, ReplicaId(3), 1);
  EXPECT_EQ(record_.Of<FirstToken>().size(), 1u);
  board_.Sample({});
  counter.Count(2, Instant::FromSeconds(2));
  const std::vector<Progress> sample = board_.Sample({});
  ASSERT_EQ(sample.size(), 1u);
  EXPECT_EQ(sample[0].replicas.at(0).replica, ReplicaId(3));
  ticket_->Close(RequestClosed());
  counter.Count(2, Instant::FromSeconds(3));
  EXPECT_TRUE(board_.Sample({}).empty()) << "nobody reads the counter after the end";
}

TEST_F(Tickets, AClosedTicketTakesNoActionAndNoFirstToken) {
  Arrive({ForwardWith(5)});
  ticket_->Close(RequestClosed());
  holder_ = Holder();
  ticket_->Deliver(ForwardWith(6));
  ticket_->Deliver(Abort{ticket_->id(), LeaseId(5)});
  TokenCounter counter;
  ticket_->OnFirstToken(counter, ReplicaId(3), 1);
  EXPECT_EQ(holder_.verdicts + holder_.aborts, 0);
  EXPECT_TRUE(record_.Of<FirstToken>().empty());
}

TEST_F(Tickets, TheLoopCutsEveryTicketAndForgetsADestroyedOne) {
  Holder second_holder;
  std::optional<Ticket> second(std::in_place, loop_, second_holder);
  loop_.CutRequests();
  EXPECT_TRUE(ticket_->cut());
  EXPECT_EQ(holder_.cuts, 1);
  EXPECT_EQ(second_holder.cuts, 1);
  second.reset();
  loop_.CutRequests();
  EXPECT_EQ(holder_.cuts, 2);
  EXPECT_EQ(second_holder.cuts, 1);
}

}  // namespace
}  // namespace penstock
