#include "router/http/pages/metrics_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "router/live/event_loop.h"
#include "tests/http/plain_core.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// A loop that runs only when the test turns it.
class MetricsDeskTest : public ::testing::Test {
 protected:
  MetricsDeskTest() {
    edge_.core = &core_;
    edge_.telemetry = &telemetry_;
    loop_.PostFleet(std::make_shared<const FleetView>(FleetBook(Config())), [] {});
    Turn();
  }
  void Turn() {
    loop_.io().restart();
    loop_.io().poll();
  }
  void AwaitTexts(size_t count) {
    while (texts_.size() < count) Turn();
  }
  void Ask() {
    desk_.Ask([this](MetricsDesk::Text text) { texts_.push_back(std::move(text)); });
  }

  PlainOrders orders_;
  Edge edge_;
  Telemetry telemetry_{TelemetryOptions()};
  EventLoop loop_{0, edge_};
  CoreHost core_{std::make_unique<PlainCore>(orders_), loop_.io(), {&loop_.mailbox()}, {}};
  MetricsDesk desk_{loop_};
  std::vector<MetricsDesk::Text> texts_;
};

TEST_F(MetricsDeskTest, NoTextIsMadeOnTheThreadOfTheAsker) {
  Ask();
  EXPECT_TRUE(texts_.empty());
  AwaitTexts(1);
  EXPECT_THAT(texts_[0]->plain(), HasSubstr("penstock_build_info"));
}

TEST_F(MetricsDeskTest, ScrapesThatWaitTogetherShareOneText) {
  Ask();
  Ask();
  AwaitTexts(2);
  EXPECT_EQ(texts_[0], texts_[1]);
}

TEST_F(MetricsDeskTest, ScrapesThatShareATextCompressItOnce) {
  Ask();
  Ask();
  AwaitTexts(2);
  int times = 0;
  const auto compress = [&times](absl::string_view text) { return std::to_string(++times) + std::string(text); };
  EXPECT_EQ(texts_[0]->Coded(compress), "1" + texts_[0]->plain());
  EXPECT_EQ(texts_[1]->Coded(compress), texts_[0]->Coded(compress));
  EXPECT_EQ(times, 1);
}

TEST_F(MetricsDeskTest, AScrapeHasTheFiguresFromAfterItsCall) {
  Ask();
  AwaitTexts(1);
  telemetry_.OnConnection(true);
  Ask();
  AwaitTexts(2);
  EXPECT_THAT(texts_[0]->plain(), HasSubstr("penstock_connections_total 0"));
  EXPECT_THAT(texts_[1]->plain(), HasSubstr("penstock_connections_total 1"));
}

}  // namespace
}  // namespace penstock
