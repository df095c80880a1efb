// Poll pages that fail: which of them cost their figures, and which take an engine down.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "tests/backends/scrape/scraped_routes.h"

namespace penstock {
namespace {

std::string WithStatus(const char* status) {
  return std::string("HTTP/1.1 ") + status + " Word\r\nContent-Length: 0\r\n\r\n";
}

Routes HealthyVllm() {
  Routes routes = VllmRoutes();
  routes.answers["/health"] = Answer("");
  return routes;
}

TEST(ScrapingVllm, AnOptionalPageThatFailsCostsItsFiguresOnly) {
  for (const std::string& answer : {WithStatus("500"), WithStatus("503"), WithStatus("302"),
                                    std::string("nonsense\r\n\r\n"), Answer(std::string(5 << 20, 'x'))}) {
    Routes routes = HealthyVllm();
    routes.answers["/metrics"] = answer;
    EngineScraper scraper(EngineOf(EngineKind::kVllm));
    const auto seen = Poll(scraper, routes);
    ASSERT_TRUE(seen.ok()) << answer.substr(0, 40) << ": " << seen.status();
    EXPECT_EQ(seen->running, -1) << answer.substr(0, 40);
    EXPECT_FALSE(seen->fault.empty()) << answer.substr(0, 40);
  }
}

TEST(ScrapingVllm, AFailedPageIsLeftAloneForSomePollsAndReadAgain) {
  Routes routes = HealthyVllm();
  const std::string good = routes.answers["/metrics"];
  routes.answers["/metrics"] = WithStatus("500");
  EngineScraper scraper(EngineOf(EngineKind::kVllm));
  ASSERT_TRUE(Poll(scraper, routes).ok());
  routes.answers["/metrics"] = good;
  int polls = 0;
  for (int running = -1; running < 0 && polls < 20; ++polls) {
    const auto seen = Poll(scraper, routes);
    ASSERT_TRUE(seen.ok()) << seen.status();
    running = seen->running;
    EXPECT_EQ(seen->fault.empty(), running >= 0);
  }
  EXPECT_EQ(polls, 9);
  EXPECT_EQ(routes.asked["/metrics"], 2);
  EXPECT_EQ(routes.asked["/health"], 10) << "the engine shows that it lives while its page is left alone";
}

TEST(ScrapingVllm, ADeadEngineFailsThePoll) {
  Routes routes = HealthyVllm();
  routes.answers["/metrics"] = WithStatus("500");
  routes.answers["/health"] = WithStatus("503");
  EngineScraper scraper(EngineOf(EngineKind::kVllm));
  EXPECT_FALSE(Poll(scraper, routes).ok());
  EXPECT_FALSE(Poll(scraper, routes).ok());
  EXPECT_EQ(routes.asked["/metrics"], 1) << "after a failure, its health comes first";
}

TEST(ScrapingAnyServer, ItLivesWhileItAnswersAtAll) {
  for (const auto& [status, lives] :
       {std::pair("500", true), {"302", true}, {"502", false}, {"503", false}, {"504", false}}) {
    Routes routes;
    routes.answers["/v1/models"] = WithStatus(status);
    EngineScraper scraper(EngineOf(EngineKind::kOpenAi));
    for (int poll = 0; poll < 3; ++poll) EXPECT_EQ(Poll(scraper, routes).ok(), lives) << status;
  }
}

}  // namespace
}  // namespace penstock
