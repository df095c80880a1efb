// The routers of the demo: the one that people look at, and beside it the same fleet and traffic under another policy.
//
// Each router has simulated engines of its own, so neither disturbs the other but for the CPU that they share. Owned by
// the thread of the demo; Rows is called on any thread.
#ifndef PENSTOCK_APP_DEMO_DEMO_CONTEST_H_
#define PENSTOCK_APP_DEMO_DEMO_CONTEST_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "app/demo/demo_clients.h"
#include "app/demo/demo_stats.h"
#include "app/serve/server.h"
#include "config/config.h"
#include "router/page/comparison.h"

namespace penstock::bench {

class DemoContest {
 public:
  explicit DemoContest(std::string version) : version_(std::move(version)) {}

  // Starts a router with its engines for each configuration, once. The first one shows the comparison on its page.
  absl::Status Start(const std::vector<Config>& configs);
  // The replicas of every router are up.
  bool Ready() const;
  // Clients send to every router from now on.
  void Send(const DemoModels& models);
  // The clients leave and the routers stop. Requests get `limit` to end.
  void End(Duration limit);

  const RouterServer& first() const { return *sides_.front()->server; }
  // Since Send.
  Duration elapsed() const;
  DemoSnapshot FirstStats() const { return sides_.front()->stats.Snapshot(elapsed()); }
  // A row per router; empty while there is only one.
  std::vector<ComparisonRow> Rows() const;

 private:
  struct Side {
    std::string policy;
    size_t replicas = 0;
    DemoStats stats;
    std::unique_ptr<RouterServer> server;
    std::unique_ptr<DemoClients> clients;
  };

  const std::string version_;
  std::atomic<Instant> start_{Instant::Never()};
  std::vector<std::unique_ptr<Side>> sides_;  // Complete before a router runs.
};

// A URL that clients can connect to: a wildcard address is none.
std::string ReachableUrl(const RouterServer& server);

}  // namespace penstock::bench

#endif  // PENSTOCK_APP_DEMO_DEMO_CONTEST_H_
