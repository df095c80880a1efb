#include "config/policy_catalogue.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

PolicySetting Number(std::string key, double standard, double least, double most, std::string meaning) {
  return {std::move(key), standard, least, most, false, {}, std::move(meaning), false};
}

PolicySetting Whole(std::string key, double standard, double least, double most, std::string meaning) {
  return {std::move(key), standard, least, most, true, {}, std::move(meaning), false};
}

PolicySetting Word(std::string key, std::vector<std::string> words, std::string meaning) {
  const double most = static_cast<double>(words.size()) - 1;
  return {std::move(key), 0, 0, most, true, std::move(words), std::move(meaning), false};
}

PolicySetting Words(std::string key, std::vector<std::string> words, std::string meaning) {
  const double most = std::exp2(static_cast<double>(words.size())) - 1;
  return {std::move(key), 0, 0, most, true, std::move(words), std::move(meaning), true};
}

std::vector<PolicyEntry> MakeCatalogue() {
  const PolicySetting ttl = Number("ttl", 0, 0, 86400, "seconds a request may wait; 0: its class's queue time");
  return {
      {"penstock",
       {Words(
           "without",
           {"forecast", "memory", "variance", "tenants", "steps", "learning", "gpu", "refusal", "density", "prefixes"},
           "parts left out, to see what they are worth")},
       {}},
      {"present_use",
       {Number("fill", 0.95, 0.01, 1, "share of the pool that present use may reach")},
       {"fill=0.9", "fill=0.98"}},
      {"round_robin", {}, {}},
      {"least_request",
       {Whole("choices", 0, 0, 1024, "replicas drawn and compared; 0: all")},
       {"choices=2", "choices=3"}},
      {"power_of_two",
       {Whole("choices", 2, 2, 1024, "replicas drawn and compared"),
        Word("load", {"tokens", "requests"}, "what is compared: KV tokens last reported, or own requests in flight")},
       {"load=requests", "choices=3", "choices=3,load=requests"}},
      {"chwbl",
       {Number("load_factor", 1.25, 1, 100, "most requests of a replica over the mean"),
        Whole("replication", 256, 1, 4096, "points of a replica on the ring"),
        Whole("prefix_blocks", 1, 1, 1024, "leading blocks of 512 tokens that make the key")},
       {"load_factor=1.1", "load_factor=1.5", "load_factor=2", "prefix_blocks=4"}},
      {"prequal",
       {Number("q_rif", 0.84, 0, 1, "quantile of requests in flight above which a replica is hot"),
        Whole("probes", 3, 1, 1024, "probes sent per request"), Whole("pool", 16, 2, 1024, "probes kept"),
        Word("latency", {"answer", "first_token"}, "what latency is measured to")},
       {"latency=first_token", "q_rif=0.6", "q_rif=0.9", "probes=5,latency=first_token"}},
      {"cache_aware",
       {Number("cache_threshold", 0.3, 0, 1, "share of the prompt that must match to follow the cache"),
        Number("balance_abs", 64, 0, 1e6, "requests between fullest and emptiest replica that count as imbalance"),
        Number("balance_rel", 1.5, 1, 1e6, "ratio between them that counts as imbalance"),
        Number("overload", 1, 0.01, 1, "reported KV share above which balance goes before cache; 1: off"),
        Number("tree_tokens", 16'777'216, 512, 1e12, "tokens remembered per replica")},
       {"cache_threshold=0.5,balance_abs=32,balance_rel=1.1", "balance_abs=8,balance_rel=1.1", "overload=0.9"}},
      {"least_load",
       {Number("kv_weight", 0.15, 0, 1000, "seconds of k/(1-k)"),
        Number("throughput", 2000, 1, 1e9, "tokens/s of a replica that shows none"),
        Number("mean_prefill", 1024, 1, 1e6, "tokens of a request that the engine says is waiting"),
        Number("veto", 0.9, 0.01, 1, "reported KV share from which a replica is passed over; 1: never")},
       {"veto=0.95", "veto=1", "kv_weight=0.5", "kv_weight=0.05"}},
      {"dynamo_cost",
       {Number("overlap_weight", 1, 0, 1000, "weight of prefill blocks"),
        Number("temperature", 0, 0, 100, "of the softmax over costs; 0: the lowest cost"),
        Number("ttl", 120, 0, 86400, "seconds that a sent prefix is taken to be cached"),
        Number("queue", 0, 0, 1e6, "step budgets of prefill on every replica from which requests wait; 0: never")},
       {"overlap_weight=0", "overlap_weight=0.5", "overlap_weight=2", "queue=2"}},
      {"llmd_utilization",
       {Number("queue", 5, 0.01, 1e6, "waiting requests at which a replica is full"),
        Number("kv", 0.8, 0.01, 1, "KV share at which a replica is full"),
        Number("headroom", 0, 0, 1, "share above its limits to which a single replica is still chosen"), ttl},
       {"queue=10,kv=0.9", "queue=20,kv=0.95", "queue=2", "ttl=2"}},
      {"llmd_concurrency",
       {Whole("max", 100, 1, 1e6, "requests in flight at which a replica is full"),
        Number("headroom", 0, 0, 1, "share above its limit to which a single replica is still chosen"), ttl},
       {"max=32", "max=64", "max=200", "max=64,ttl=2"}},
      {"threshold_gate",
       {Number("kv", 0.8, 0.01, 1.01, "KV share below which a replica passes"),
        Number("queue", 5, 0.01, 1e6, "waiting requests below which a replica passes")},
       {"kv=0.9", "kv=0.9,queue=10", "queue=2"}},
      {"past_future",
       {Number("reserved", 0.05, 0, 0.9, "share of the pool kept free"),
        Whole("window", 1000, 20, 1e6, "output lengths remembered per model"),
        Whole("lists", 5, 1, 64, "most samples of which the worst counts")},
       {"reserved=0.03", "reserved=0.1", "window=200"}},
      {"max_tokens",
       {Whole("limit", 1024, 1, 1e6, "output tokens reserved for a request without a limit"),
        Number("share", 1, 0.01, 1, "of the pool that may be reserved")},
       {"limit=512", "limit=256", "limit=2048"}},
      {"mc_sf",
       {Word("length", {"mean", "median"}, "what of a model's recent outputs is the prediction"),
        Number("protect", 0, 0, 0.9, "share of the pool kept free")},
       {"length=median", "protect=0.1", "protect=0.2", "length=median,protect=0.1"}},
  };
}

absl::Status Bad(const PolicyEntry& entry, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(entry.name, ": ", what));
}

std::string Bounds(const PolicySetting& setting) {
  if (setting.several) return absl::StrCat("some of ", absl::StrJoin(setting.words, " "), ", joined by +");
  if (!setting.words.empty()) return absl::StrCat("one of ", absl::StrJoin(setting.words, " "));
  return absl::StrCat(setting.whole ? "a whole number" : "a number", " from ", setting.least, " to ", setting.most);
}

std::optional<double> PositionOf(const std::vector<std::string>& words, absl::string_view text) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) return std::nullopt;
  return static_cast<double>(found - words.begin());
}

std::optional<double> SumOf(const std::vector<std::string>& words, absl::string_view text) {
  std::vector<bool> given(words.size());
  double sum = 0;
  for (absl::string_view word : absl::StrSplit(text, '+')) {
    const std::optional<double> position = PositionOf(words, word);
    if (!position || given[static_cast<size_t>(*position)]) return std::nullopt;
    given[static_cast<size_t>(*position)] = true;
    sum += std::exp2(*position);
  }
  return sum;
}

std::optional<double> ValueOf(const PolicySetting& setting, absl::string_view text) {
  if (setting.several) return SumOf(setting.words, text);
  if (!setting.words.empty()) return PositionOf(setting.words, text);
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= setting.least && value <= setting.most)) return std::nullopt;
  if (setting.whole && value != std::floor(value)) return std::nullopt;
  return value;
}

absl::Status ReadSetting(absl::string_view text, PolicyChoice* choice, std::vector<bool>* given) {
  const PolicyEntry& entry = *choice->entry;
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.size() != 2) return Bad(entry, absl::StrCat("\"", text, "\" is not of the form key=value"));
  const auto known = std::find_if(entry.settings.begin(), entry.settings.end(),
                                  [&](const PolicySetting& setting) { return setting.key == parts[0]; });
  if (known == entry.settings.end()) {
    const std::string keys = absl::StrJoin(
        entry.settings, " ", [](std::string* out, const PolicySetting& setting) { out->append(setting.key); });
    return Bad(entry,
               absl::StrCat("unknown setting \"", parts[0], "\"", keys.empty() ? ", it has none" : ", known: ", keys));
  }
  const size_t position = static_cast<size_t>(known - entry.settings.begin());
  if ((*given)[position]) return Bad(entry, absl::StrCat(known->key, " is given twice"));
  (*given)[position] = true;
  const std::optional<double> value = ValueOf(*known, parts[1]);
  if (!value) return Bad(entry, absl::StrCat(known->key, " must be ", Bounds(*known), ", not \"", parts[1], "\""));
  choice->values[position] = *value;
  return absl::OkStatus();
}

}  // namespace

const std::vector<PolicyEntry>& PolicyCatalogue() {
  static const std::vector<PolicyEntry> catalogue = MakeCatalogue();
  return catalogue;
}

double PolicyChoice::operator[](absl::string_view key) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (absl::string_view(entry->settings[i].key) == key) return values[i];
  }
  assert(false && "not a setting of this policy");
  return 0;
}

absl::StatusOr<PolicyChoice> ParsePolicy(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  const std::vector<PolicyEntry>& catalogue = PolicyCatalogue();
  const auto entry = std::find_if(catalogue.begin(), catalogue.end(),
                                  [&](const PolicyEntry& candidate) { return candidate.name == parts[0]; });
  if (entry == catalogue.end()) {
    const std::string names =
        absl::StrJoin(catalogue, " ", [](std::string* out, const PolicyEntry& known) { out->append(known.name); });
    return absl::InvalidArgumentError(absl::StrCat("unknown name \"", parts[0], "\", known: ", names));
  }
  PolicyChoice choice{&*entry, {}};
  for (const PolicySetting& setting : entry->settings) choice.values.push_back(setting.standard);
  std::vector<bool> given(entry->settings.size());
  if (parts.size() == 1) return choice;
  for (absl::string_view setting : absl::StrSplit(parts[1], ',')) {
    if (absl::Status read = ReadSetting(setting, &choice, &given); !read.ok()) return read;
  }
  return choice;
}

}  // namespace penstock
