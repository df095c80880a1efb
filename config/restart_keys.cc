#include "config/config.h"

namespace penstock {
namespace {

// Replicas that run inside the process: their engines are made at start.
std::vector<std::string> Inside(const Config& config) {
  std::vector<std::string> ids;
  for (const ReplicaConfig& replica : config.replicas) {
    if (replica.simulated && replica.url.empty()) ids.push_back(replica.id);
  }
  return ids;
}

}  // namespace

std::vector<std::string> KeysThatNeedRestart(const Config& running, const Config& fresh) {
  std::vector<std::string> keys;
  if (running.listen != fresh.listen) keys.emplace_back("listen");
  if (running.admin_listen != fresh.admin_listen) keys.emplace_back("admin_listen");
  if (running.threads != fresh.threads) keys.emplace_back("threads");
  if (running.policy != fresh.policy) keys.emplace_back("policy");
  if (running.log.path != fresh.log.path) keys.emplace_back("log.path");
  if (Inside(running) != Inside(fresh)) keys.emplace_back("replicas that are simulated inside");
  return keys;
}

}  // namespace penstock
