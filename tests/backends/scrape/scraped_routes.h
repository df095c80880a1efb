// An engine that answers each path with a scripted response.
#ifndef PENSTOCK_TESTS_BACKENDS_SCRAPE_SCRAPED_ROUTES_H_
#define PENSTOCK_TESTS_BACKENDS_SCRAPE_SCRAPED_ROUTES_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "backends/engines/scrape/engine_scraper.h"
#include "tests/backends/recording.h"
#include "tests/backends/transport/scripted_server.h"

namespace penstock {

// Answers each path with its response; 404 for the rest. Counts what was asked.
struct Routes {
  std::map<std::string, std::string> answers;
  std::map<std::string, int> asked;
  std::string last_request;

  ScriptedServer::Script script() {
    return [this](Peer& peer) -> boost::asio::awaitable<void> {
      while (true) {
        const std::string request = co_await peer.Request();
        if (request.empty()) co_return;
        last_request = request;
        const size_t start = request.find(' ') + 1;
        const std::string path = request.substr(start, request.find(' ', start) - start);
        ++asked[path];
        const auto it = answers.find(path);
        std::string answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        if (it != answers.end()) answer = it->second;
        co_await peer.Send(answer);
      }
    };
  }
};

inline Routes VllmRoutes() {
  Routes routes;
  routes.answers["/v1/models"] = Answer(R"({"data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]})");
  routes.answers["/version"] = Answer(R"({"version":"0.11.0"})");
  routes.answers["/metrics"] = Answer(
      "vllm:cache_config_info{block_size=\"16\",kv_cache_size_tokens=\"50000\"} 1\n"
      "vllm:num_requests_running 2\nvllm:num_requests_waiting 1\nvllm:kv_cache_usage_perc 0.5\n");
  return routes;
}

inline absl::StatusOr<Observation> Poll(EngineScraper& scraper, Routes& routes) {
  boost::asio::io_context loop;
  ScriptedServer server(loop, {routes.script()});
  UpstreamPool pool(loop, server.address(), {});
  return RunToEnd(loop, scraper.Poll(pool, ""));
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_BACKENDS_SCRAPE_SCRAPED_ROUTES_H_
