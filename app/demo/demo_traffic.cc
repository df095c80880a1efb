#include "app/demo/demo_traffic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/generator.h"

namespace penstock::bench {
namespace {

struct Lengths {
  double mu;
  double sigma;
  double most;
};

struct Rhythm {
  double per_second;
  double burst_factor = 1;
  double burst_every = 30;  // Seconds.
  double burst_length = 6;
};

Tokens Draw(const Lengths& lengths, Generator& generator) {
  const double tokens = std::clamp(std::round(generator.LogNormal(lengths.mu, lengths.sigma)), 1.0, lengths.most);
  return Tokens(static_cast<int64_t>(tokens));
}

// The first burst comes a third into the period, when the fleet has warmed up.
double RateAt(const Rhythm& rhythm, double t) {
  const double phase = std::fmod(t, rhythm.burst_every) - rhythm.burst_every / 3;
  return rhythm.per_second * (phase >= 0 && phase < rhythm.burst_length ? rhythm.burst_factor : 1);
}

// Poisson arrivals by thinning the fastest rate.
template <class Fill>
Trace Arrivals(const Rhythm& rhythm, Duration length, Generator generator, Fill fill) {
  Trace trace;
  trace.source = "demo";
  trace.length = length;
  const double peak = rhythm.per_second * rhythm.burst_factor;
  for (double t = generator.Exponential(1 / peak); t < length.seconds(); t += generator.Exponential(1 / peak)) {
    if (generator.Uniform() * peak > RateAt(rhythm, t)) continue;
    TraceRequest request;
    request.arrival = Duration::Seconds(t);
    fill(request, generator);
    trace.requests.push_back(std::move(request));
  }
  return trace;
}

const std::string& Pick(const DemoModels& models, Generator& generator) {
  const double u = generator.Uniform();
  return u < 0.6 ? models.chat : u < 0.8 ? models.code : models.reason;
}

}  // namespace

std::vector<DemoStream> DemoTraffic(const DemoModels& models, Duration length, uint64_t seed) {
  Generator generator(seed);
  std::vector<DemoStream> streams;
  streams.push_back({"interactive",
                     {Duration::Seconds(1), Duration::Milliseconds(50)},
                     Arrivals({6, 6}, length, generator.Split(), [&](TraceRequest& request, Generator& random) {
                       request.model = Pick(models, random);
                       request.tenant = "chats";
                       request.prompt = Draw({5.6, 0.9, 4000}, random);
                       request.output = Draw({4.8, 0.6, 800}, random);
                     })});
  streams.push_back({"standard",
                     {Duration::Seconds(2), Duration::Milliseconds(100)},
                     Arrivals({3}, length, generator.Split(), [&](TraceRequest& request, Generator& random) {
                       request.model = Pick(models, random);
                       request.tenant = "work";
                       const bool is_long = random.Uniform() < 0.1;
                       request.prompt = is_long ? Draw({8.5, 0.2, 9000}, random) : Draw({6.7, 0.8, 4000}, random);
                       request.output = Draw({5.1, 0.8, 1000}, random);
                     })});
  streams.push_back({"background",
                     {Duration::Seconds(3600), Duration::Seconds(1)},
                     Arrivals({0.67}, length, generator.Split(), [&](TraceRequest& request, Generator& random) {
                       request.model = random.Uniform() < 0.5 ? models.reason : models.chat;
                       request.tenant = "jobs";
                       request.prompt = Draw({6.9, 0.5, 4000}, random);
                       request.output = Draw({6.3, 0.4, 2000}, random);
                     })});
  streams.push_back({"standard",
                     {Duration::Seconds(2), Duration::Milliseconds(100)},
                     Arrivals({1.0 / 12}, length, generator.Split(), [&](TraceRequest& request, Generator& random) {
                       request.model = models.rare;
                       request.tenant = "visits";
                       request.prompt = Draw({5.6, 0.9, 4000}, random);
                       request.output = Draw({4.0, 0.6, 400}, random);
                     })});
  return streams;
}

}  // namespace penstock::bench
