#include "router/live/nodes/node_keeper.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "backends/dialect/metrics_text.h"
#include "backends/node/signals/page_lines.h"
#include "backends/socket/cut_off.h"
#include "base/clock.h"
#include "base/ids.h"
#include "config/keys/names.h"
#include "config/values/capacity.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr Duration kTick = Duration::Milliseconds(500);
constexpr Duration kWaitForTurn = Duration::Milliseconds(20);
constexpr int64_t kTicksPerRepeat = 4;

// The number of the GPU in the ids NODE/gpu0, NODE/0 and NODE/gpu0-slice; nullopt: it has none.
std::optional<absl::string_view> NumberOf(absl::string_view gpu) {
  absl::ConsumePrefix(&gpu, "gpu");
  const size_t end = std::min(gpu.size(), gpu.find_first_not_of("0123456789"));
  const bool ends_well = end == gpu.size() || gpu[end] == '-';
  if (end == 0 || !ends_well) return std::nullopt;
  return gpu.substr(0, end);
}

// Words of a page that is no page of metrics may look like samples.
bool IsMetricName(absl::string_view name) {
  const auto fits = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; };
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), fits);
}

NodeScrape ResultOf(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status)) return NodeScrape::kTimeout;
  return absl::IsDataLoss(status) ? NodeScrape::kGarbage : NodeScrape::kUnreachable;
}

// The samples of whole lines; those of the exporter's kind are counted. False: too many.
bool TakeLines(absl::string_view lines, const ExporterConfig& config, ExporterWatch& watch, int64_t& samples) {
  MetricsReader reader(lines);
  while (const std::optional<MetricSample> sample = reader.Next()) {
    samples += IsMetricName(sample->name) && IsOfKind(config, sample->name) ? 1 : 0;
    if (!watch.Take(*sample)) return false;
  }
  return true;
}

}  // namespace

// One exporter, and the way to it.
struct NodeKeeper::Reader {
  Reader(EventLoop& loop, std::string the_node, const ExporterConfig& the_config)
      : node(std::move(the_node)), config(the_config), watch(the_config), pause(loop.io()) {}

  const std::string node;
  const ExporterConfig config;
  ExporterWatch watch;
  std::unique_ptr<UpstreamPool> pool;  // Null: it has no way.
  asio::steady_timer pause;
  std::optional<NodeScrape> last;
  bool stopped = false;
  CutOff work;

  // Its coroutine ends soon.
  void Stop() {
    stopped = true;
    work.Cut();
  }
};

NodeKeeper::NodeKeeper(EventLoop& control, const FleetBook& book)
    : control_(control), book_(book), timer_(control.io()) {}

void NodeKeeper::Start() { Tick(); }

void NodeKeeper::Stop() {
  stopped_ = true;
  timer_.cancel();
  for (const auto& reader : readers_) reader->Stop();
  readers_.clear();
}

void NodeKeeper::LogResult(const Reader& reader, NodeScrape result) const {
  if (result == NodeScrape::kOk) return Log(reader, "is read");
  const bool strange = result == NodeScrape::kGarbage;
  Log(reader,
      absl::StrCat("cannot be read: ", LabelOf(result),
                   strange ? ": the page has no sample of this kind, or is cut" : ""),
      LogLevel::kWarning);
}

void NodeKeeper::Log(const Reader& reader, absl::string_view message, LogLevel level) const {
  if (control_.edge().log == nullptr) return;
  const auto suppressed = lines_.Take(Now());
  if (!suppressed) return;
  DecisionEntry entry;
  entry.level = level;
  entry.suppressed = *suppressed;
  entry.message =
      absl::StrCat("node ", reader.node, ", ", kExporterNames[static_cast<size_t>(reader.config.kind)], " ", message);
  control_.edge().log->Write(std::move(entry));
}

std::shared_ptr<NodeKeeper::Reader> NodeKeeper::Begin(const std::string& node, const ExporterConfig& exporter) {
  auto reader = std::make_shared<Reader>(control_, node, exporter);
  UpstreamPool::Options options;
  options.max_idle = 1;
  auto address = ParseUpstreamUrl(exporter.url);
  if (address.ok() && address->tls) {
    const EngineTlsConfig given = exporter.tls.value_or(EngineTlsConfig());
    auto context = TlsContext::ForClient(given.ca.text, TlsIdentity{given.certificate.text, given.key.text});
    if (context.ok()) options.tls = *std::move(context);
    options.server_name = given.server_name;
  }
  if (address.ok()) reader->pool = std::make_unique<UpstreamPool>(control_.io(), *address, options);
  control_.connections().EnterGuest();
  reader->work.Spawn(control_.io(), Read(reader));
  return reader;
}

// A reader that goes on keeps its effects over a reload.
void NodeKeeper::Configure() {
  std::vector<std::shared_ptr<Reader>> before = std::exchange(readers_, {});
  nodes_ = book_.config().nodes;
  for (const NodeConfig& node : nodes_) {
    for (const ExporterConfig& exporter : node.exporters) {
      const auto same = std::find_if(before.begin(), before.end(), [&](const std::shared_ptr<Reader>& reader) {
        return reader != nullptr && reader->node == node.id && reader->config == exporter;
      });
      readers_.push_back(same != before.end() ? std::exchange(*same, nullptr) : Begin(node.id, exporter));
    }
  }
  for (const auto& reader : before) {
    if (reader == nullptr) continue;
    reader->Stop();
    const bool read_anew = std::any_of(readers_.begin(), readers_.end(), [&reader](const auto& each) {
      return each->node == reader->node && each->config.kind == reader->config.kind;
    });
    if (read_anew) continue;
    const absl::string_view kind = kExporterNames[static_cast<size_t>(reader->config.kind)];
    control_.edge().telemetry->engines().OnNodeLeft(reader->node, kind);
  }
}

void NodeKeeper::Tick() {
  if (nodes_ != book_.config().nodes) Configure();
  Report(++ticks_ % kTicksPerRepeat == 0);
  timer_.expires_after(ToChrono(kTick));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && !stopped_) Tick();
  });
}

NodeEffects NodeKeeper::EffectsOn(ReplicaId replica, Instant now) const {
  NodeEffects all;
  for (const std::string& gpu : book_.replica_config(replica).gpus) {
    for (const auto& reader : readers_) {
      if (NodeOf(gpu) != reader->node) continue;
      ExportedGpu exported;
      if (const auto number = NumberOf(absl::string_view(gpu).substr(reader->node.size() + 1)))
        exported.number = std::string(*number);
      const GpuConfig* known = FindGpu(book_.config(), gpu);
      if (known != nullptr && known->instance) exported.instance = absl::StrCat(*known->instance);
      all.Add(reader->watch.EffectsOn(exported, now));
    }
  }
  return all;
}

void NodeKeeper::Report(bool repeat) {
  const Instant now = Now();
  for (uint32_t i = 0; i < book_.fleet().replicas.size(); ++i) {
    const ReplicaId id(i);
    if (book_.removed(id)) {
      told_.erase(id);
      continue;
    }
    const NodeEffects effects = EffectsOn(id, now);
    NodeEffects& told = told_[id];
    if (effects == told && (!repeat || effects == NodeEffects())) continue;
    told = effects;
    control_.edge().core->Submit(
        NodeReport{id, effects.derate, effects.storage_pressure, effects.closed, effects.cpu_pressure});
  }
}

asio::awaitable<void> NodeKeeper::Read(std::shared_ptr<Reader> reader) {
  EventLoop& control = control_;
  const auto leave = absl::MakeCleanup([&reader, &control] {
    reader->pool.reset();
    control.connections().LeaveGuest();
  });
  const std::shared_ptr<int> under_way = under_way_;
  while (!reader->stopped) {
    Duration pause = reader->config.every;
    // Exporters that hang leave half of the places to those that answered last.
    if (*under_way >= (reader->last == NodeScrape::kOk ? kMostAtOnce : kMostAtOnce / 2)) {
      pause = kWaitForTurn;
    } else {
      ++*under_way;
      auto ended = absl::MakeCleanup([&under_way] { --*under_way; });
      const NodeScrape result = co_await ReadPage(*reader);
      std::move(ended).Invoke();
      if (reader->stopped) break;
      control.edge().telemetry->engines().OnNodeScrape(
          reader->node, kExporterNames[static_cast<size_t>(reader->config.kind)], result, reader->watch.IsStale(Now()));
      if (reader->last != result) LogResult(*reader, result);
      reader->last = result;
      for (const std::string& news : reader->watch.TakeNews()) Log(*reader, news);
    }
    reader->pause.expires_after(ToChrono(pause));
    co_await reader->pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<NodeScrape> NodeKeeper::ReadPage(Reader& reader) {
  if (reader.pool == nullptr) co_return NodeScrape::kUnreachable;
  const Instant deadline = Now() + reader.config.timeout;
  const auto left = [deadline] { return std::max(Duration::Milliseconds(1), deadline - Now()); };
  UpstreamRequest request;
  request.method = "GET";
  request.target = reader.pool->address().base_path.empty() ? "/metrics" : "";
  request.headers.Add("Accept", "text/plain");
  if (!reader.config.key.empty()) request.headers.Add("Authorization", absl::StrCat("Bearer ", reader.config.key));
  auto exchange = co_await reader.pool->Send(request, left());
  if (!exchange.ok()) co_return ResultOf(exchange.status());
  auto head = co_await exchange->ReadHead(left());
  if (!head.ok()) co_return ResultOf(head.status());
  if (head->status / 100 != 2) co_return NodeScrape::kUnreachable;
  reader.watch.Begin();
  PageLines page;
  int64_t samples = 0;
  const auto take = [&reader, &samples](absl::string_view lines) {
    return TakeLines(lines, reader.config, reader.watch, samples);
  };
  while (true) {
    if (Now() >= deadline) co_return NodeScrape::kTimeout;
    auto piece = co_await exchange->ReadSome(left());
    if (!piece.ok()) co_return ResultOf(piece.status());
    if (piece->empty()) break;
    if (!page.Add(*piece, take)) co_return NodeScrape::kTooLarge;
  }
  if (!page.whole() || samples == 0) co_return NodeScrape::kGarbage;
  reader.watch.Commit(Now());
  co_return NodeScrape::kOk;
}

}  // namespace penstock
