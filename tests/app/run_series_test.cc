// The course of a run from its events, and the page that shows it.
#include "app/simulate/run_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/simulate/html_report.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A window of 240 s: a slice is a second.
class Series : public ::testing::Test {
 protected:
  static Fleet OneClass() {
    Fleet fleet;
    fleet.classes.push_back({"standard", Duration::Seconds(2), Duration::Seconds(1), Duration::Seconds(30)});
    fleet.replicas.resize(2);
    return fleet;
  }
  void At(double seconds, const Event& event, const std::vector<Action>& actions = {}) {
    series_.Take(event, Instant::FromSeconds(seconds), actions);
  }
  static RequestArrived Arrival(uint64_t id) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(0);
    return arrived;
  }
  static Forward ForwardOf(uint64_t id) {
    Forward forward;
    forward.request = RequestId(id);
    return forward;
  }
  static RequestClosed Finished(uint64_t id, int64_t output) {
    RequestClosed closed;
    closed.request = RequestId(id);
    closed.output = Tokens(output);
    return closed;
  }

  RunSeries series_{OneClass(), Duration::Seconds(240)};
};

TEST_F(Series, TheQueueIsTheMostThatWaitedInASliceAndLastsUntilItChanges) {
  At(1.1, Arrival(1), {Park{RequestId(1)}});
  At(1.2, Arrival(2), {Park{RequestId(2)}});
  At(1.3, TimerFired(), {ForwardOf(1)});
  At(4.5, TimerFired(), {ForwardOf(2)});
  At(6.5, TimerFired());
  const auto slices = series_.Slices();
  const std::vector<double> waiting = {slices[0].waiting, slices[1].waiting, slices[2].waiting, slices[4].waiting,
                                       slices[5].waiting};
  EXPECT_THAT(waiting, ::testing::ElementsAre(0, 2, 1, 1, 0));
}

TEST_F(Series, ARequestThatGoesBackOrLeavesCountsOnce) {
  At(1, Arrival(1), {ForwardOf(1)});
  At(2, RequestRequeued{RequestId(1)}, {Park{RequestId(1)}});
  RequestClosed gone = Finished(1, 0);
  gone.outcome = Outcome::kClientGone;
  At(3, gone);
  At(5, TimerFired());
  const auto slices = series_.Slices();
  EXPECT_EQ(slices[2].waiting, 1);
  EXPECT_EQ(slices[4].waiting, 0);
}

TEST_F(Series, TokensAreActiveUntilTheirDueTimesAndLateAfterwards) {
  // Token i is due at 3 + i s. The tokens come at 2, 4, 6 and 8 s.
  At(1, Arrival(1), {ForwardOf(1)});
  At(2, FirstToken{RequestId(1)});
  At(8, Finished(1, 4));
  const auto slices = series_.Slices();
  EXPECT_EQ(slices[2].active_tokens, 1);
  EXPECT_EQ(slices[4].active_tokens, 1);
  EXPECT_EQ(slices[6].late_tokens, 1);
  EXPECT_EQ(slices[8].late_tokens, 1);
  EXPECT_EQ(slices[1].median_ttft, 1);
  EXPECT_LT(slices[2].median_ttft, 0);
}

TEST_F(Series, MemoryIsThatOfTheFullestReplicaAndTheMeanOfThoseThatReport) {
  EngineReport report;
  report.replica = ReplicaId(0);
  report.kv_used_share = 0.2;
  At(1, report);
  report.replica = ReplicaId(1);
  report.kv_used_share = 0.6;
  At(1.5, report);
  At(9, TimerFired());
  report.kv_used_share = 0.1;
  At(10.5, report);
  const auto slices = series_.Slices();
  EXPECT_LT(slices[0].mean_memory, 0);
  EXPECT_DOUBLE_EQ(slices[1].fullest_memory, 0.6);
  EXPECT_DOUBLE_EQ(slices[8].mean_memory, 0.4);
  EXPECT_DOUBLE_EQ(slices[8].fullest_memory, 0.6);
  EXPECT_DOUBLE_EQ(slices[10].fullest_memory, 0.2);
}

TEST_F(Series, EventsBehindTheWindowAreLeftOut) {
  At(1, Arrival(1), {ForwardOf(1)});
  At(500, FirstToken{RequestId(1)});
  At(900, Finished(1, 100), {Refuse{RequestId(2)}});
  EXPECT_EQ(series_.Slices().size(), RunSeries::kSlices);
}

TEST_F(Series, ThePageHasAPlotOfEachAndNamesNoOtherFile) {
  const std::string html = HtmlOf({"a <b> & c", "figures < 3", Duration::Seconds(1), series_.Slices()});
  EXPECT_THAT(html, AllOf(HasSubstr("<h1>a &lt;b&gt; &amp; c</h1>"), HasSubstr("figures &lt; 3"),
                          Not(HasSubstr("http")), Not(HasSubstr("<script")), Not(HasSubstr("nan"))));
  for (const char* plot : {"Queue", "Tokens per second", "KV memory in use", "Time to first token"}) {
    EXPECT_THAT(html, HasSubstr(std::string("aria-label=\"") + plot));
  }
}

}  // namespace
}  // namespace penstock
