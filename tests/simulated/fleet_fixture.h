// Simulated engines in this process, for tests over HTTP.
#ifndef PENSTOCK_TESTS_SIMULATED_FLEET_FIXTURE_H_
#define PENSTOCK_TESTS_SIMULATED_FLEET_FIXTURE_H_

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "backends/simulated/fleet/fleet.h"
#include "gtest/gtest.h"
#include "tests/simulated/http_client.h"

namespace penstock::simulated {

// One replica of llama-3.1-8b on an a100-80, a hundred times faster than real.
inline Config OneReplica() {
  Config config;
  GpuConfig gpu;
  gpu.id = "gpu0";
  gpu.kind = *FindGpuKind("a100-80");
  config.gpus.push_back(gpu);
  ReplicaConfig replica;
  replica.id = "chat-a";
  replica.gpus = {"gpu0"};
  replica.model = "llama-3.1-8b";
  replica.kv_tokens = Tokens(16'000);
  replica.simulated.emplace().time_scale = 100;
  config.replicas.push_back(replica);
  return config;
}

class FleetTest : public testing::Test {
 protected:
  void Run(const Config& config) {
    auto fleet = SimulatedFleet::Create(config, SimulatedFleet::Which::kWithoutUrl);
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    fleet_ = *std::move(fleet);
    const absl::Status started = fleet_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }

  uint16_t Port(size_t engine = 0) const { return fleet_->engines()[engine].port; }
  Reply Ask(const std::string& method, const std::string& target, const std::string& body = "",
            const Headers& headers = {}) {
    return Connection(Port()).Ask(method, target, body, headers);
  }

  // Value of the first sample of that name, with or without labels.
  double Metric(const std::string& name) {
    const std::string page = Ask("GET", "/metrics").body;
    size_t at = page.find("\n" + name);
    while (at != std::string::npos && page[at + 1 + name.size()] != ' ' && page[at + 1 + name.size()] != '{') {
      at = page.find("\n" + name, at + 1);
    }
    if (at == std::string::npos) return -1;
    const size_t end = page.find('\n', at + 1);
    const size_t space = page.rfind(' ', end);
    return std::stod(page.substr(space + 1, end - space - 1));
  }

  // Asks until the metric has the value, at most for a minute.
  bool Becomes(const std::string& name, double value) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      if (Metric(name) == value) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::unique_ptr<SimulatedFleet> fleet_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_TESTS_SIMULATED_FLEET_FIXTURE_H_
