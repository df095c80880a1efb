#include "app/demo/demo_contest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace penstock::bench {

absl::Status DemoContest::Start(const std::vector<Config>& configs) {
  for (const Config& config : configs) {
    auto side = std::make_unique<Side>();
    side->policy = config.policy;
    side->replicas = config.replicas.size();
    sides_.push_back(std::move(side));
  }
  for (size_t i = 0; i < configs.size(); ++i) {
    RouterServer::Options options;
    options.version = version_;
    if (i == 0) options.comparison = [this] { return Rows(); };
    auto server = RouterServer::Create(configs[i], std::move(options));
    if (!server.ok()) return server.status();
    sides_[i]->server = *std::move(server);
    if (absl::Status started = sides_[i]->server->Start(); !started.ok()) return started;
  }
  return absl::OkStatus();
}

bool DemoContest::Ready() const {
  return std::all_of(sides_.begin(), sides_.end(), [](const std::unique_ptr<Side>& side) {
    return side->server->replicas_up() >= static_cast<int>(side->replicas);
  });
}

void DemoContest::Send(const DemoModels& models) {
  start_ = Now();
  for (const std::unique_ptr<Side>& side : sides_) {
    side->clients = std::make_unique<DemoClients>(ReachableUrl(*side->server), models, side->stats, start_);
  }
}

void DemoContest::End(Duration limit) {
  for (const std::unique_ptr<Side>& side : sides_) side->clients.reset();
  for (const std::unique_ptr<Side>& side : sides_) {
    if (side->server == nullptr) continue;
    side->server->Drain(limit);
    side->server->Stop();
  }
}

Duration DemoContest::elapsed() const {
  const Instant start = start_;
  return start == Instant::Never() ? Duration() : Now() - start;
}

std::vector<ComparisonRow> DemoContest::Rows() const {
  std::vector<ComparisonRow> rows;
  if (sides_.size() < 2) return rows;
  for (const std::unique_ptr<Side>& side : sides_) {
    const DemoSnapshot stats = side->stats.Snapshot(elapsed());
    ComparisonRow row{side->policy,
                      stats.Ended(),
                      stats.on_time,
                      stats.RefusedCount(),
                      stats.failed,
                      stats.active_per_s,
                      stats.late_per_s,
                      {},
                      {}};
    if (stats.ttft_s) {
      row.ttft_p50 = stats.ttft_s->p50;
      row.ttft_p99 = stats.ttft_s->p99;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ReachableUrl(const RouterServer& server) {
  const std::string address = server.address();
  const bool any = absl::StartsWith(address, "0.0.0.0:") || absl::StartsWith(address, "[::]:");
  return any ? absl::StrCat("http://127.0.0.1:", server.port()) : server.url();
}

}  // namespace penstock::bench
