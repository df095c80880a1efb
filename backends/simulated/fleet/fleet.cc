#include "backends/simulated/fleet/fleet.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <deque>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "backends/simulated/engine/engine_spec.h"
#include "backends/simulated/fleet/cache_events.h"
#include "backends/simulated/fleet/step_clock.h"
#include "backends/simulated/server/engine_server.h"
#include "base/clock.h"
#include "config/text/addresses.h"
#include "config/values/capacity.h"

namespace penstock::simulated {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// Port 0 and an empty host are for a listener only.
absl::StatusOr<HostPort> AddressOf(absl::string_view url) {
  absl::StatusOr<EngineUrl> engine = ParseEngineUrl(url);
  if (engine.ok() && !engine->socket_path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(url, ": a simulated engine listens on TCP only"));
  }
  if (engine.ok()) return engine->address;
  absl::ConsumePrefix(&url, "http://");
  return ParseHostPort(url);
}

// The endpoint of a url such as "http://127.0.0.1:9001". Resolves names.
absl::StatusOr<tcp::endpoint> EndpointOf(const std::string& url) {
  const absl::StatusOr<HostPort> address = AddressOf(url);
  if (!address.ok()) return address.status();
  asio::io_context context;
  tcp::resolver resolver(context);
  boost::system::error_code error;
  const auto found =
      resolver.resolve(address->host.empty() ? "0.0.0.0" : address->host, absl::StrCat(address->port), error);
  if (error || found.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot resolve ", url, ": ", error.message()));
  }
  return found.begin()->endpoint();
}

// The positions of `replicas`, in groups that share no GPU.
std::vector<std::vector<size_t>> Independent(const std::vector<const ReplicaConfig*>& replicas) {
  std::vector<size_t> group(replicas.size());
  std::iota(group.begin(), group.end(), size_t{0});
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < replicas.size(); ++i) {
    for (const std::string& gpu : replicas[i]->gpus) {
      const size_t other = group[first.emplace(gpu, i).first->second];
      const size_t mine = group[i];
      std::replace(group.begin(), group.end(), std::max(mine, other), std::min(mine, other));
    }
  }
  std::map<size_t, std::vector<size_t>> members;
  for (size_t i = 0; i < replicas.size(); ++i) members[group[i]].push_back(i);
  std::vector<std::vector<size_t>> groups;
  groups.reserve(members.size());
  for (auto& [name, list] : members) groups.push_back(std::move(list));
  return groups;
}

bool Chosen(const ReplicaConfig& replica, SimulatedFleet::Which which) {
  if (!replica.simulated) return false;
  return which == SimulatedFleet::Which::kAll || (which == SimulatedFleet::Which::kWithUrl) != replica.url.empty();
}

absl::Status NobodyOf(SimulatedFleet::Which which) {
  return absl::NotFoundError(which == SimulatedFleet::Which::kWithUrl
                                 ? "no replica has both `simulated` and a `url`, the address of its engine"
                                 : "no replica is simulated");
}

Sharing SharingOf(const Config& config, const std::string& id) {
  const GpuConfig* gpu = FindGpu(config, absl::string_view(id));
  return gpu != nullptr && gpu->sharing == GpuSharing::kMps ? Sharing::kMps : Sharing::kTimeSlicing;
}

// The memory on each GPU of the replica while it is awake.
Bytes ResidentOf(const Config& config, const ReplicaConfig& replica, const EngineSpec& spec) {
  Bytes kv(0);
  const auto footprint = ReplicaFootprint(config, replica, replica.model, spec.limits.block);
  if (footprint && spec.elastic_gpu.empty()) {
    kv = Bytes(AmountOfTokens(*footprint, spec.limits.kv_tokens, spec.limits.max_context).value());
  }
  return ResidentPerGpu(config, replica, replica.model, kv).total();
}

}  // namespace

// The engines of one thread. Connections own their engines. The timer of the clock and the acceptors end before the
// io_context.
struct SimulatedFleet::Group {
  std::map<std::string, ElasticMemory> elastic;  // The memory of each GPU, used until the last connection ends.
  std::map<std::string, DeviceMemory> devices;   // For engines that sleep.
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  StepClock clock{context};
  std::vector<std::unique_ptr<CacheEvents>> events;
  std::map<std::string, int> gpus;
  std::thread thread;

  ElasticMemory* MemoryOf(const EngineSpec& spec) {
    if (spec.elastic_gpu.empty()) return nullptr;
    return &elastic.emplace(spec.elastic_gpu, ElasticMemory{spec.elastic_kv.value(), 0}).first->second;
  }

  // The engines that never sleep come first.
  void PlaceInMemory(const Config& config, const ReplicaConfig& replica, simulated::Engine& engine) {
    const Bytes resident = ResidentOf(config, replica, engine.spec());
    std::vector<DeviceMemory*> mine;
    for (const std::string& id : replica.gpus) {
      const GpuConfig* gpu = FindGpu(config, absl::string_view(id));
      if (gpu == nullptr) continue;
      const Bytes size = gpu->kind.memory - gpu->elastic_kv.value_or(Bytes(0));
      mine.push_back(&devices.emplace(id, DeviceMemory{size, Bytes(0)}).first->second);
    }
    if (replica.sleep) {
      engine.SetSleepState(SleepState(resident, std::move(mine), replica.sleep->wake));
    } else {
      for (DeviceMemory* device : mine) device->used = device->used + resident;
    }
  }

  void Add(const Config& config, const ReplicaConfig& replica, std::shared_ptr<simulated::Engine> engine) {
    std::vector<int> indices;
    for (const std::string& id : replica.gpus) {
      const auto [found, is_new] = gpus.emplace(id, 0);
      if (is_new) found->second = clock.AddGpu(SharingOf(config, id));
      indices.push_back(found->second);
    }
    if (indices.empty()) indices.push_back(clock.AddGpu(Sharing::kTimeSlicing));
    clock.AddEngine(std::move(engine), indices);
  }
};

struct SimulatedFleet::Listener {
  std::unique_ptr<EngineServer> server;
  tcp::endpoint endpoint;
  std::optional<OutageConfig> outage;  // In real time since the start.
  std::shared_ptr<asio::steady_timer> timer;

  Listener() = default;
  Listener(asio::io_context& context, Engines engines, const tcp::endpoint& at, const SimulatedConfig& config)
      : server(std::make_unique<EngineServer>(context, std::move(engines))), endpoint(at), outage(config.outage) {
    if (!outage) return;
    timer = std::make_shared<asio::steady_timer>(context);
    for (Duration* time : {&outage->from, &outage->to}) {
      if (*time < Duration::Infinite()) *time = Duration::Seconds(time->seconds() / config.time_scale);
    }
  }
};

// The events of one rank's cache, where its replica has them.
struct SimulatedFleet::Publication {
  Group* group;
  std::shared_ptr<simulated::Engine> engine;
  std::optional<ReplicaKvEventsConfig> config;
  int rank;
};

void SimulatedFleet::PlayOutage(const Listener& listener) {
  const Instant start = Now();
  EngineServer* server = listener.server.get();
  listener.timer->expires_at(ToTimePoint(start + listener.outage->from));
  listener.timer->async_wait([server, start, timer = listener.timer, to = listener.outage->to](const auto& error) {
    if (error) return;
    server->Die();
    if (to >= Duration::Infinite()) return;
    timer->expires_at(ToTimePoint(start + to));
    timer->async_wait([server, timer](const auto& failed) {
      // Somebody else may have taken the port meanwhile: the engine then stays down.
      if (!failed) server->Listen(server->address()).IgnoreError();
    });
  });
}

std::string SimulatedFleet::Engine::Url() const {
  return absl::StrCat("http://", HostPort{host, static_cast<uint16_t>(port)}.Text());
}

SimulatedFleet::SimulatedFleet() = default;

SimulatedFleet::~SimulatedFleet() {
  Stop();
  listeners_.clear();
}

absl::StatusOr<std::unique_ptr<SimulatedFleet>> SimulatedFleet::Create(const Config& config, Which which) {
  std::vector<const ReplicaConfig*> replicas;
  for (const ReplicaConfig& replica : config.replicas) {
    if (Chosen(replica, which)) replicas.push_back(&replica);
  }
  if (replicas.empty()) return NobodyOf(which);
  std::unique_ptr<SimulatedFleet> fleet(new SimulatedFleet());
  fleet->engines_.resize(replicas.size());
  fleet->listeners_.resize(replicas.size());
  const size_t threads = std::max(1u, std::thread::hardware_concurrency());
  struct Placed {
    Group* group;
    const ReplicaConfig* replica;
    simulated::Engine* engine;
  };
  std::vector<Placed> placed;
  std::deque<ReplicaConfig> ranks;
  size_t next = 0;
  for (const std::vector<size_t>& members : Independent(replicas)) {
    if (fleet->groups_.size() < threads) fleet->groups_.push_back(std::make_unique<Group>());
    Group& group = *fleet->groups_[next++ % threads];
    for (const size_t i : members) {
      const ReplicaConfig& replica = *replicas[i];
      auto endpoint = EndpointOf(replica.url.empty() ? "127.0.0.1:0" : replica.url);
      if (!endpoint.ok()) return endpoint.status();
      Engines engines;
      for (int rank = 0; rank < RanksOf(replica); ++rank) {
        const ReplicaConfig& own = ranks.emplace_back(RankConfig(replica, rank, rank, RanksOf(replica)));
        auto spec = SpecOf(config, own);
        if (!spec.ok()) return spec.status();
        if (replica.kv_events) spec->cache_feed = std::make_shared<CacheFeed>();
        fleet->engines_[i] = {replica.id, spec->model, spec->gpu, spec->limits.kv_tokens, "", 0};
        ElasticMemory* elastic = group.MemoryOf(*spec);
        engines.push_back(std::make_shared<simulated::Engine>(*std::move(spec), Now(), elastic));
        group.Add(config, own, engines.back());
        fleet->publications_.push_back({&group, engines.back(), replica.kv_events, rank});
        placed.push_back({&group, &own, engines.back().get()});
      }
      fleet->listeners_[i] = Listener(group.context, std::move(engines), *endpoint, *replica.simulated);
    }
  }
  for (const bool sleeps : {false, true}) {
    for (const Placed& each : placed) {
      if (each.replica->sleep.has_value() == sleeps) each.group->PlaceInMemory(config, *each.replica, *each.engine);
    }
  }
  return fleet;
}

absl::Status SimulatedFleet::Start() {
  for (const Publication& each : publications_) {
    if (!each.config) continue;
    auto events = CacheEvents::Begin(each.group->context, *each.engine, *each.config, each.rank);
    if (!events.ok()) return events.status();
    each.group->events.push_back(*std::move(events));
  }
  for (size_t i = 0; i < listeners_.size(); ++i) {
    absl::Status bound = listeners_[i].server->Listen(listeners_[i].endpoint);
    if (!bound.ok())
      return absl::Status(bound.code(), absl::StrCat("replica ", engines_[i].replica, ": ", bound.message()));
    engines_[i].host = listeners_[i].server->address().address().to_string();
    engines_[i].port = listeners_[i].server->address().port();
  }
  for (const Listener& listener : listeners_) {
    if (listener.outage) PlayOutage(listener);
  }
  for (const auto& group : groups_) {
    group->thread = std::thread([context = &group->context] { context->run(); });
  }
  return absl::OkStatus();
}

void SimulatedFleet::Stop() {
  for (const auto& group : groups_) group->context.stop();
  for (const auto& group : groups_) {
    if (group->thread.joinable()) group->thread.join();
  }
  // The sockets close with their coroutines, and these end with the io_context.
  listeners_.clear();
  publications_.clear();
  groups_.clear();
}

}  // namespace penstock::simulated
