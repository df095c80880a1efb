// One exporter: from its pages, with the times of their reading, to the effects of its rules.
//
// Only the reader's clock counts; time stamps of a page are ignored. A page counts as a whole or not at all. A counter
// has a rate from its second page on; one that fell began anew at zero. Values that are no finite number, and negative
// counters, are left out. A rule begins after its bound was broken for `for`, and ends after the bound was in order for
// as long. A series that a page lacks stays as it is for three periods. A watch without a page for so long is stale: it
// has no effect, and starts afresh. Bounds: kMostSeries samples of rules, kLongestLabels bytes of labels. Pure; one
// owner. A page costs O(samples x rules).
#ifndef PENSTOCK_BACKENDS_NODE_SIGNALS_EXPORTER_WATCH_H_
#define PENSTOCK_BACKENDS_NODE_SIGNALS_EXPORTER_WATCH_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/dialect/metrics_text.h"
#include "backends/node/signals/signal_rules.h"
#include "base/units.h"

namespace penstock {

// The effects of a node on the replicas of one GPU.
struct NodeEffects {
  double derate = 1;
  double storage_pressure = 0;
  bool closed = false;
  double cpu_pressure = 0;

  // The worse of both, each by itself.
  void Add(const NodeEffects& other);
  bool operator==(const NodeEffects&) const = default;
};

// A GPU as the labels of samples name it.
struct ExportedGpu {
  std::optional<std::string> number;    // As in the label gpu, or device_index of HAMi; nullopt: it has none.
  std::optional<std::string> instance;  // GPU_I_ID of a MIG slice; nullopt: not known.
};

class ExporterWatch {
 public:
  static constexpr size_t kMostSeries = 2048;
  static constexpr size_t kLongestLabels = 1024;

  explicit ExporterWatch(const ExporterConfig& config);

  // A page: Begin, its samples, then Commit with the time of its reading. Without Commit it counts as never read.
  void Begin();
  // False: the page has more samples of rules, or longer labels, than fit.
  bool Take(const MetricSample& sample);
  void Commit(Instant at);

  bool IsStale(Instant now) const;
  // A sample of a device that no page numbers, by its UUID only, concerns no GPU. One of a MIG instance concerns that
  // instance, and slices of its device whose instance is not known.
  NodeEffects EffectsOn(const ExportedGpu& gpu, Instant now) const;
  // The rules that began or ended since the last call, in words.
  std::vector<std::string> TakeNews() { return std::exchange(news_, {}); }

 private:
  // A rule and the labels of a sample.
  using Key = std::pair<size_t, std::string>;
  // The part of the node that a sample concerns; without any label: all of it.
  struct Subject {
    std::optional<std::string> gpu;
    std::optional<std::string> instance;
    std::string uuid;  // Empty: the sample has a number, or concerns the whole node.
  };
  struct Series {
    Subject subject;
    double raw = 0;
    Instant raw_at;
    double value = 0;
    bool known = false;   // `value` is one.
    bool broken = false;  // The bound, since `changed`.
    Instant changed;
    bool active = false;
  };

  // A line of the log about a rule.
  void Tell(const Key& key, absl::string_view words, absl::string_view detail);
  // Series without a good sample in the page stay as they are for a while.
  void KeepMissing(std::map<Key, Series>& fresh, Instant at);
  static Subject SubjectOf(const MetricSample& sample);
  bool Concerns(const Subject& subject, const ExportedGpu& gpu) const;
  // The value of the page, over that of the other metric where the rule has one; nullopt: it is missing.
  std::optional<double> ValueOf(const Key& key, double raw) const;
  static bool Matches(const NodeRuleConfig& rule, const MetricSample& sample);
  // The next state of a series; nullopt: the sample is none.
  std::optional<Series> Next(const SignalRule& rule, const Series* before, double raw, Instant at) const;

  std::vector<SignalRule> rules_;
  const Duration stale_after_;
  std::map<Key, Series> series_;
  std::map<Key, double> page_;
  std::map<Key, double> page_over_;
  std::map<Key, Subject> page_subjects_;
  std::map<std::string, std::string> numbers_;  // Of GPUs, by UUID.
  std::optional<Instant> read_at_;
  std::vector<std::string> news_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_NODE_SIGNALS_EXPORTER_WATCH_H_
