#include "app/simulate/carried_search.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/simulation/fluid_bound.h"
#include "bench/simulation/search/capacity_search.h"

namespace penstock {
namespace {

// A search ends within 2 %; a hidden queue is named from here on.
constexpr double kMuch = 0.1;

// The share of a search that is done, by the calls that its present bounds leave.
class SearchShare {
 public:
  explicit SearchShare(const bench::CapacitySearch& search) : search_(search) {}
  void Note(double rate, bool carried) {
    ++calls_;
    if (carried) low_ = std::max(low_, rate);
    if (!carried) high_ = high_ > 0 ? std::min(high_, rate) : rate;
  }
  bool none() const { return calls_ == 0; }
  double share() const {
    // A doubling, where the answer is not enclosed yet.
    const double ratio = low_ > 0 && high_ > 0 ? high_ / low_ : 2;
    double left = low_ > 0 && high_ > 0 ? 0 : 1;
    left += std::max(0.0, std::ceil(std::log2(std::log(ratio) / std::log1p(search_.tolerance))));
    return calls_ / (calls_ + left);
  }

 private:
  const bench::CapacitySearch& search_;
  double calls_ = 0;
  double low_ = 0;
  double high_ = 0;
};

// The search of one seed in one window.
class OneSearch {
 public:
  OneSearch(const SimulationSetup& setup, const CarriedRequest& request, int repetition)
      : setup_(setup), request_(request), seed_(request.seed + static_cast<uint64_t>(repetition)), number_(repetition) {
    window_ = request.window;
    for (int i = 0; i < repetition; ++i) window_.from = window_.from + request.shift;
    search_.on_time = request.on_time;
    search_.start = request.window.rate;
  }

  void StartAt(double rate) { search_.start = std::clamp(rate, search_.lowest, search_.highest); }

  absl::StatusOr<double> Carried() {
    SearchShare searched(search_);
    absl::Status failure;
    bool met_requests = false;
    const double carried = bench::HighestRate(search_, [&](double rate) {
      if (!failure.ok()) return 0.0;
      absl::StatusOr<double> share = ShareAt(rate);
      const bool empty = absl::IsOutOfRange(share.status());
      met_requests = met_requests || !empty;
      // Nobody is late in a window that another rate has emptied. The first rate is the caller's own.
      if (empty && !(number_ == 0 && searched.none())) share = 1.0;
      failure = share.status();
      if (!failure.ok()) return 0.0;
      searched.Note(rate, *share >= search_.on_time);
      if (request_.progress) request_.progress(rate, *share, (number_ + searched.share()) / request_.seeds);
      return *share;
    });
    if (!failure.ok()) return failure;
    if (!met_requests) return absl::OutOfRangeError(absl::StrCat(request_.trace, ": no request arrives in the window"));
    return carried;
  }

  // The rate beyond which no router could keep that share on time, by GPU time alone.
  double BoundFrom(double carried) {
    if (carried <= 0) return carried;
    StartAt(carried);
    return bench::HighestRate(search_, [this](double rate) {
      const auto opened = Open(rate);
      if (absl::IsOutOfRange(opened.status())) return 1.0;
      return opened.ok() ? bench::FluidOnTimeBound(setup_.spec, opened->arrivals, opened->length) : 0.0;
    });
  }

  // CarriedLoad::hidden of this window.
  double HiddenAt(double carried) const {
    const auto opened = Open(carried);
    if (!opened.ok() || opened->length <= Duration()) return 0;
    Duration longest;
    for (const bench::SimulatedArrival& arrival : opened->arrivals) {
      longest = std::max(longest, setup_.spec.fleet.classes[arrival.service_class.value()].ttft);
    }
    return longest.seconds() / (longest + opened->length).seconds();
  }

  bool AtEnd(double carried) const { return carried >= search_.highest; }

 private:
  struct Opened {
    std::vector<bench::SimulatedArrival> arrivals;
    Duration length;
  };

  absl::StatusOr<Opened> Open(double rate) const {
    bench::TraceWindow window = window_;
    window.rate = rate;
    const absl::StatusOr<bench::Trace> trace = OpenWindow(request_.trace, window, seed_);
    if (!trace.ok()) return trace.status();
    auto arrivals = bench::ArrivalsOf(*trace, setup_.model_of, setup_.class_of, setup_.tenant_of, setup_.storage_of);
    if (!arrivals.ok()) return arrivals.status();
    return Opened{*std::move(arrivals), trace->length};
  }

  absl::StatusOr<double> ShareAt(double rate) const {
    const absl::StatusOr<Opened> opened = Open(rate);
    if (!opened.ok()) return opened.status();
    SimulationRun run;
    run.policy = request_.policy;
    run.seed = seed_;
    run.window = opened->length;
    run.most_on_time = true;
    run.enough_on_time = request_.on_time;
    run.prompt_bias = request_.prompt_bias;
    const absl::StatusOr<bench::SimulationReport> report = RunSimulation(setup_, opened->arrivals, run);
    if (!report.ok()) return report.status();
    if (report->feasible_offered == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(request_.trace, ": even an idle fleet makes no request's first token in time"));
    }
    return report->feasible_on_time_share;
  }

  const SimulationSetup& setup_;
  const CarriedRequest& request_;
  bench::TraceWindow window_;
  bench::CapacitySearch search_;
  uint64_t seed_;
  int number_;
};

}  // namespace

absl::StatusOr<CarriedLoad> FindCarriedLoad(const SimulationSetup& setup, const CarriedRequest& request) {
  CarriedLoad load;
  std::vector<double> bounds;
  for (int i = 0; i < request.seeds; ++i) {
    OneSearch search(setup, request, i);
    // Seeds differ by little: a search that starts at the first answer needs half the calls.
    if (i > 0 && load.by_seed.front() > 0) search.StartAt(load.by_seed.front());
    const absl::StatusOr<double> carried = search.Carried();
    if (!carried.ok()) return carried.status();
    load.by_seed.push_back(*carried);
    load.at_least = load.at_least || search.AtEnd(*carried);
    if (*carried > 0) load.hidden = std::max(load.hidden, search.HiddenAt(*carried));
    bounds.push_back(search.BoundFrom(*carried));
  }
  load.rate = bench::MedianIntervalOf(load.by_seed);
  load.bound = bench::MedianIntervalOf(bounds).median;
  return load;
}

std::string CarriedJson(const CarriedLoad& load, const CarriedRequest& request) {
  const nlohmann::ordered_json json = {{"carried", load.rate.median}, {"at_least", load.at_least},
                                       {"policy", request.policy},    {"on_time", request.on_time},
                                       {"bound", load.bound},         {"interval", {load.rate.low, load.rate.high}},
                                       {"by_seed", load.by_seed},     {"hidden_at_most", load.hidden}};
  return json.dump() + "\n";
}

std::string CarriedText(const CarriedLoad& load, const CarriedRequest& request) {
  std::string text =
      absl::StrFormat("%s carries rate %s%.4f", request.policy, load.at_least ? "at least " : "", load.rate.median);
  if (request.seeds > 1) {
    absl::StrAppendFormat(&text, " (median of %d seeds; %.4f to %.4f)", request.seeds, load.rate.low, load.rate.high);
  }
  absl::StrAppendFormat(&text, " with %.4g%% of feasible requests on time (GPU time allows %.4f)\n",
                        100 * request.on_time, load.bound);
  if (load.hidden > kMuch) {
    absl::StrAppendFormat(
        &text,
        "  up to %.0f%% of it may be a queue that the end of the window hides: requests at its end may wait for their "
        "TTFT goal and be on time; take a longer --duration\n",
        100 * load.hidden);
  }
  return text;
}

}  // namespace penstock
