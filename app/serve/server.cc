#include "app/serve/server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "app/serve/descriptor_limit.h"
#include "app/serve/reports.h"
#include "app/serve/server_parts.h"
#include "base/clock.h"
#include "config/print/print_config.h"
#include "config/values/policy_pair.h"
#include "router/core/tenants/tenant_gate.h"
#include "router/http/exchange/answer.h"
#include "router/http/pages/metrics_page.h"
#include "router/policies/policy_factory.h"

namespace penstock {
namespace asio = boost::asio;
using simulated::SimulatedFleet;

namespace {

constexpr Duration kDrainPoll = Duration::Milliseconds(5);

absl::StatusOr<TlsContext::Pointer> ListenerTls(absl::string_view key, const std::optional<ListenTlsConfig>& tls,
                                                bool http2) {
  if (!tls) return TlsContext::Pointer();
  auto made = TlsContext::ForServer(TlsIdentity{tls->certificate.text, tls->key.text}, tls->client_ca.text, http2);
  if (!made.ok()) return absl::InvalidArgumentError(absl::StrCat(key, ": ", made.status().message()));
  return made;
}

struct ListenersTls {
  TlsContext::Pointer clients;
  TlsContext::Pointer admin;
};

absl::StatusOr<ListenersTls> ListenersTlsOf(const Config& config) {
  auto clients = ListenerTls("tls", config.tls, config.http2);
  if (!clients.ok()) return clients.status();
  auto admin = ListenerTls("admin_tls", config.admin_tls, config.http2);
  if (!admin.ok()) return admin.status();
  return ListenersTls{*std::move(clients), *std::move(admin)};
}

// Waits until the loop has done it.
void RunOn(EventLoop& loop, const std::function<void()>& work) {
  std::promise<void> done;
  asio::post(loop.io(), [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace

absl::Status RouterServer::OpenReports(Parts& p, const std::string& version) {
  auto log = OpenLog(p.config);
  if (!log.ok()) return log.status();
  p.reports.log = *std::move(log);
  auto traces = MakeExporter(p.config, version, p.telemetry, *p.reports.log);
  if (!traces.ok()) return traces.status();
  p.reports.traces = *std::move(traces);
  return absl::OkStatus();
}

RouterServer::RouterServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

RouterServer::~RouterServer() { Stop(); }

absl::StatusOr<std::unique_ptr<RouterServer>> RouterServer::Create(const Config& config, Options options) {
  auto parts = std::make_unique<Parts>(config, options.version);
  Parts& p = *parts;
  if (absl::Status opened = OpenReports(p, options.version); !opened.ok()) return opened;
  std::string unknown;
  const PolicyPair policy = PolicyPairOf(config.policy);
  std::unique_ptr<AdmissionCore> core =
      options.core != nullptr ? std::move(options.core) : MakePolicy(policy.decide, options.seed, &unknown);
  if (core == nullptr) return absl::InvalidArgumentError(absl::StrCat("policy: ", unknown));
  if (std::any_of(config.replicas.begin(), config.replicas.end(), RunsInside)) {
    auto simulated = SimulatedFleet::Create(config, SimulatedFleet::Which::kWithoutUrl);
    if (!simulated.ok()) return simulated.status();
    p.simulated.fleet = *std::move(simulated);
  }
  if (absl::Status opened = OpenStore(p); !opened.ok()) return opened;
  std::vector<Mailbox*> mailboxes;
  for (size_t i = 0; i <= LoopCount(config); ++i) {
    p.loops.push_back(std::make_unique<EventLoop>(i, p.edge));
    p.all_loops.push_back(p.loops.back().get());
    mailboxes.push_back(&p.loops.back()->mailbox());
  }
  auto shadow = ShadowOf(policy, options.seed, p.core, *p.reports.log);
  if (!shadow.ok()) return shadow.status();
  p.observers.shadow = *std::move(shadow);
  CoreHost::Hooks hooks;
  p.observers.gpus.SetPrices(PricesOf(config), Now());
  hooks.record = RecorderOf(p.observers.gpus, p.observers.runs, p.observers.shadow.get(), std::move(options.record));
  hooks.on_decision = [telemetry = &p.telemetry](Duration spent) { telemetry->OnDecision(spent); };
  hooks.on_fleet_action = [&p](const FleetAction& action) {
    asio::post(p.control().io(), [&p, action] { p.Carry(action); });
  };
  p.core = std::make_unique<CoreHost>(std::make_unique<TenantGate>(std::move(core)), p.control().io(),
                                      std::move(mailboxes), std::move(hooks));
  p.edge.core = p.core.get();
  p.edge.board = &p.board;
  p.edge.gpus = &p.observers.gpus;
  p.edge.telemetry = &p.telemetry;
  p.edge.log = p.reports.log.get();
  p.edge.traces = p.reports.traces.get();
  p.edge.pseudonym = absl::StrCat("penstock-", NewRequestId());
  p.edge.admin_apart = !config.admin_listen.empty();
  p.MakePages(options.version, std::move(options.comparison));
  return std::unique_ptr<RouterServer>(new RouterServer(std::move(parts)));
}

absl::Status RouterServer::BindListeners(Parts& p) {
  const int spare = SpareConnections(RaiseDescriptorLimit());
  const auto tls = ListenersTlsOf(p.config);
  if (!tls.ok()) return tls.status();
  p.listeners.clients =
      std::make_unique<Listener>(p.home(), p.ClientLoops(), Listener::Options{.admin = false, .spare = spare});
  p.listeners.clients->SetTls(tls->clients);
  if (absl::Status bound = p.listeners.clients->Bind(p.config.listen); !bound.ok()) return bound;
  if (!p.edge.admin_apart) return absl::OkStatus();
  p.listeners.admin =
      std::make_unique<Listener>(p.home(), p.ClientLoops(), Listener::Options{.admin = true, .spare = spare});
  p.listeners.admin->SetTls(tls->admin);
  return p.listeners.admin->Bind(p.config.admin_listen);
}

absl::Status RouterServer::Start() {
  Parts& p = *parts_;
  if (p.simulated.fleet != nullptr) {
    if (absl::Status started = p.simulated.fleet->Start(); !started.ok()) return started;
    for (const SimulatedFleet::Engine& engine : p.simulated.fleet->engines())
      p.simulated.urls[engine.replica] = engine.Url();
  }
  if (absl::Status bound = BindListeners(p); !bound.ok()) return bound;
  p.watch.monitor =
      std::make_unique<FleetMonitor>(p.control(), p.all_loops, p.config, [&p](const ReplicaConfig& replica) {
        const auto inside = p.simulated.urls.find(replica.id);
        return inside != p.simulated.urls.end() && RunsInside(replica) ? inside->second : replica.url;
      });
  p.watch.elastic = std::make_unique<ElasticKeeper>(p.control(), p.watch.monitor->book());
  p.watch.nodes = std::make_unique<NodeKeeper>(p.control(), p.watch.monitor->book());
  p.MakeCacheWatch();
  p.edge.report = [&p](ReplicaId replica, EngineNews news) {
    asio::post(p.control().io(), [&p, replica, news] { p.watch.monitor->OnNews(replica, news); });
  };
  p.watch.sampler = std::make_unique<ProgressSampler>(
      p.control(), [&p](ReplicaId replica, Instant then) { p.watch.monitor->OnToken(replica, then); });
  p.MakeRunner();
  const auto first_view = p.watch.monitor->FirstView();
  for (EventLoop* loop : p.all_loops) loop->PostFleet(first_view, [] {});
  asio::post(p.control().io(), [&p] {
    p.watch.monitor->Start();
    p.watch.elastic->Start();
    p.watch.nodes->Start();
    p.watch.caches->Start();
    p.watch.sampler->Start();
  });
  if (p.watch.batches != nullptr) p.watch.batches->Start();
  asio::post(p.home().io(), [&p] {
    p.listeners.clients->Start();
    if (p.listeners.admin != nullptr) p.listeners.admin->Start();
  });
  for (EventLoop* loop : p.all_loops) loop->Start();
  if (p.reports.traces != nullptr) p.reports.traces->Start();
  p.pages.feed->Start();
  if (p.observers.shadow != nullptr) p.observers.shadow->Start();
  p.phase = Parts::Phase::kStarted;
  return absl::OkStatus();
}

std::string RouterServer::address() const { return parts_->listeners.clients->address(); }
uint16_t RouterServer::port() const { return parts_->listeners.clients->port(); }
std::string RouterServer::admin_address() const {
  return parts_->listeners.admin != nullptr ? parts_->listeners.admin->address() : "";
}

std::string RouterServer::url() const {
  if (absl::StartsWith(address(), "unix:")) return address();
  return (parts_->config.tls ? "https://" : "http://") + address();
}

absl::Status RouterServer::Reload(const Config& config) {
  Parts& p = *parts_;
  const auto tls = ListenersTlsOf(config);
  if (!tls.ok()) return tls.status();
  if (p.store != nullptr) p.store->SetLimits(StoreLimitsOf(config.state));
  p.observers.gpus.SetPrices(PricesOf(config), Now());
  p.reports.log->SetWanted(config.log.level, config.log.all_decisions, config.log.access);
  p.reports.log->Reopen();
  std::promise<void> published;
  const bool same_admin = config.admin_listen == p.config.admin_listen;
  asio::post(p.home().io(), [&p, tls = *tls, same_admin] {
    p.listeners.clients->SetTls(tls.clients);
    // An admin listener that the file moved or dropped stays as it is until the restart.
    if (p.listeners.admin != nullptr && same_admin) p.listeners.admin->SetTls(tls.admin);
  });
  asio::post(p.control().io(),
             [&p, &published, config] { p.watch.monitor->Reload(config, [&published] { published.set_value(); }); });
  published.get_future().wait();
  const std::vector<std::string> restart_keys = KeysThatNeedRestart(p.config, config);
  for (const std::string& key : restart_keys) {
    log().Note(key + " changed; that needs a restart, the old value stays in force", LogLevel::kWarning);
  }
  p.telemetry.OnConfigReload(true, CertificateEndsOf(config.tls, same_admin ? config.admin_tls : p.config.admin_tls),
                             restart_keys.size());
  p.pages.feed->configuration().Loaded(PageFeed::WallSeconds());
  return absl::OkStatus();
}

void RouterServer::NoteBadReload(absl::string_view why) {
  parts_->telemetry.OnConfigReload(false);
  parts_->reports.log->Reopen();
  NoteLines(*parts_->reports.log, "the configuration is kept, the new one is bad: ", why);
  parts_->pages.feed->configuration().Refused(why, PageFeed::WallSeconds());
}

DecisionLog& RouterServer::log() { return *parts_->reports.log; }

void RouterServer::BeginDrain() {
  Parts& p = *parts_;
  if (p.phase == Parts::Phase::kMade || p.edge.draining.exchange(true)) return;
  p.telemetry.SetDraining(true);
  if (p.watch.batches != nullptr) p.watch.batches->Drain();
  p.core->Submit(ShutdownStarted{});
  asio::post(p.home().io(), [&p] { p.listeners.clients->Close(); });
  // Requests that are refused now count as active until they have their answers.
  for (EventLoop* loop : p.all_loops) RunOn(*loop, [loop] { loop->connections().CloseIdle(); });
}

int RouterServer::active_requests() const { return parts_->edge.requests.load(std::memory_order_relaxed); }
int RouterServer::cut_requests() const { return parts_->edge.cut.load(std::memory_order_relaxed); }
int RouterServer::replicas_up() const { return parts_->edge.replicas_up.load(std::memory_order_relaxed); }

bool RouterServer::Drain(Duration timeout) {
  BeginDrain();
  const Instant end = Now() + timeout;
  while (active_requests() > 0 && Now() < end) std::this_thread::sleep_for(ToChrono(kDrainPoll));
  return active_requests() == 0;
}

void RouterServer::Stop() {
  Parts& p = *parts_;
  if (p.phase != Parts::Phase::kStarted) return;
  p.phase = Parts::Phase::kStopped;
  BeginDrain();
  // Lines of batches run again after the next start, so nobody gets an error.
  if (p.watch.batches != nullptr) RunOn(p.control(), [&p] { p.watch.batches->Stop(); });
  for (EventLoop* loop : p.all_loops) asio::post(loop->io(), [loop] { loop->CutRequests(); });
  Drain(kLastWords);
  // Clients that took neither the rest of their answer nor an error in time.
  p.edge.cut = std::max(p.edge.cut.load(), active_requests());
  RunOn(p.home(), [&p] {
    p.listeners.clients->Close();
    if (p.listeners.admin != nullptr) p.listeners.admin->Close();
  });
  RunOn(p.control(), [&p] {
    p.watch.sampler->Stop();
    p.watch.nodes->Stop();
    p.watch.caches->Stop();
    p.watch.elastic->Stop();
    p.watch.monitor->Stop();
    p.core->StopTimer();
  });
  p.pages.feed->Stop();
  if (p.observers.shadow != nullptr) p.observers.shadow->Stop();
  for (auto loop = p.all_loops.rbegin(); loop != p.all_loops.rend(); ++loop) (*loop)->Stop();
  if (p.store != nullptr) p.store->Stop();
  if (p.reports.traces != nullptr) p.reports.traces->Stop();
  if (p.simulated.fleet != nullptr) p.simulated.fleet->Stop();
}

CoreView RouterServer::View() const { return parts_->core->View(); }

std::string RouterServer::Metrics() const { return MetricsPage(parts_->edge, parts_->config.limits, nullptr); }

}  // namespace penstock
