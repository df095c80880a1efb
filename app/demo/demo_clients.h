// The clients of one router of the demo: a thread per kind of traffic, until they are destroyed.
#ifndef PENSTOCK_APP_DEMO_DEMO_CLIENTS_H_
#define PENSTOCK_APP_DEMO_DEMO_CLIENTS_H_

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "app/demo/demo_stats.h"
#include "app/demo/demo_traffic.h"
#include "base/units.h"

namespace penstock::bench {

class DemoClients {
 public:
  // Sends to the router at `url` from now on. The traffic is the same for every router. `stats` outlives the clients
  // and counts from `start`.
  DemoClients(const std::string& url, const DemoModels& models, DemoStats& stats, Instant start);
  ~DemoClients();
  DemoClients(const DemoClients&) = delete;
  DemoClients& operator=(const DemoClients&) = delete;

 private:
  void Run(const std::string& url, size_t kind);

  const DemoModels models_;
  DemoStats& stats_;
  const Instant start_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_APP_DEMO_DEMO_CLIENTS_H_
