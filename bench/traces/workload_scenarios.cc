#include "bench/traces/workload_scenarios.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/traces/draws.h"

namespace penstock::bench {
namespace {

TraceRequest ChatRequest(double at, const std::string& model, const std::string& tenant, Generator& generator) {
  TraceRequest request;
  request.arrival = Duration::Seconds(at);
  request.model = model;
  request.tenant = tenant;
  request.prompt = Between(generator.LogNormal(6.3, 0.9), 1, 16'000);
  request.output = Between(generator.LogNormal(5.0, 0.8), 1, 4'000);
  return request;
}

// Times in seconds.
struct BurstShape {
  double period;
  double length;
  int requests;
};

void AddBursts(const BurstShape& shape, const std::string& tenant, double length, Generator& generator,
               std::vector<TraceRequest>& requests) {
  for (double start = shape.period * generator.Uniform(); start < length; start += shape.period) {
    for (int i = 0; i < shape.requests; ++i) {
      const double at = start + shape.length * generator.Uniform();
      if (at < length) requests.push_back(ChatRequest(at, "", tenant, generator));
    }
  }
}

}  // namespace

void AntiPhase(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  constexpr double kPeriod = 150;
  constexpr int kModels = 3;
  for (int model = 0; model < kModels; ++model) {
    const double phase = 2 * M_PI * model / kModels;
    // Each model is busy for about a third of the time; the sum is steady.
    const auto rate = [phase](double at) {
      return 6 * std::pow(std::max(0.0, 0.5 + 0.5 * std::cos(2 * M_PI * at / kPeriod - phase)), 2);
    };
    for (const double at : PoissonArrivals(length, 6, rate, generator)) {
      requests.push_back(ChatRequest(at, absl::StrFormat("model-%c", 'a' + model), "", generator));
    }
  }
}

void Bursts(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // Shorter than any scrape period.
  AddBursts({6, 0.1, 40}, "", length, generator, requests);
}

void Flood(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  const auto steady = [](double) { return 6.0; };
  for (const double at : PoissonArrivals(length, 6, steady, generator)) {
    const auto tenant = static_cast<int>(generator.Next() % 8);
    requests.push_back(ChatRequest(at, "", absl::StrFormat("tenant-%d", tenant), generator));
  }
  // One tenant sends five times everybody else's load for a third of every five minutes.
  const auto flood = [](double at) { return std::fmod(at, 300) >= 100 && std::fmod(at, 300) < 200 ? 30.0 : 0.0; };
  for (const double at : PoissonArrivals(length, 30, flood, generator)) {
    requests.push_back(ChatRequest(at, "", "flood", generator));
  }
}

void Users(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  AddBursts({20, 2, 60}, "users", length, generator, requests);
}

void Jobs(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  Users(length, generator, requests);
  // A batch fills any memory for minutes.
  constexpr double kPeriod = 240;
  constexpr int kRequests = 648;
  for (double start = 15; start < length; start += kPeriod) {
    for (int i = 0; i < kRequests; ++i) {
      TraceRequest request = ChatRequest(start + generator.Uniform(), "", "jobs", generator);
      request.prompt = Between(generator.LogNormal(7.3, 0.6), 1, 12'000);
      request.output = Between(generator.LogNormal(6.3, 0.5), 1, 4'000);
      if (request.arrival < Duration::Seconds(length)) requests.push_back(request);
    }
  }
}

void LongPrompts(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  const auto steady = [](double) { return 1.0; };
  for (const double at : PoissonArrivals(length, 1, steady, generator)) {
    TraceRequest request = ChatRequest(at, "", "", generator);
    request.prompt = Tokens(14'000 + static_cast<int64_t>(generator.Next() % 4'000));
    request.output = Between(generator.LogNormal(5.3, 0.6), 1, 1'500);
    requests.push_back(request);
  }
}

void Mixture(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  const auto steady = [](double) { return 5.0; };
  for (const double at : PoissonArrivals(length, 5, steady, generator)) {
    TraceRequest request = ChatRequest(at, "", "small", generator);
    request.prompt = Tokens(200);
    request.output = Tokens(300);
    requests.push_back(request);
  }
  for (double at = 10; at < length; at += 20) {
    TraceRequest request = ChatRequest(at, "", "large", generator);
    request.prompt = Tokens(14'000);
    request.output = Tokens(50);
    requests.push_back(request);
  }
}

void Giants(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  constexpr int kGiants = 40;
  const auto steady = [](double) { return 24.0; };
  for (const double at : PoissonArrivals(length, 24, steady, generator)) {
    requests.push_back(ChatRequest(at, "", "chat", generator));
  }
  for (int i = 0; i < kGiants && length > 60; ++i) {
    TraceRequest request = ChatRequest(60 + generator.Uniform(), "", "giant", generator);
    request.prompt = Tokens(60'000);
    requests.push_back(request);
  }
}

template <int kModels>
void Market(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  constexpr int kRates = 20;
  constexpr double kLowest = 0.02;  // Requests per second of the quietest and of the busiest model.
  constexpr double kHighest = 0.3;
  constexpr double kBurst = 60;  // Mean seconds of a burst, and of the pause after it.
  constexpr double kPause = 120;
  for (int model = 0; model < kModels; ++model) {
    // Neighbours in the list differ in their rates.
    const int place = model * 7 % kRates;
    const double mean = kLowest * std::pow(kHighest / kLowest, place / (kRates - 1.0));
    const double busy = mean * (kBurst + kPause) / kBurst;
    double start = -generator.Uniform() * (kBurst + kPause);
    while (start < length) {
      const double end = start + generator.Exponential(kBurst);
      for (double at = start + generator.Exponential(1 / busy); at < end; at += generator.Exponential(1 / busy)) {
        if (at < 0 || at >= length) continue;
        requests.push_back(ChatRequest(at, absl::StrFormat("market-%02d", model), "", generator));
      }
      start = end + generator.Exponential(kPause);
    }
  }
}

template void Market<5>(double, Generator&, std::vector<TraceRequest>&);
template void Market<10>(double, Generator&, std::vector<TraceRequest>&);
template void Market<20>(double, Generator&, std::vector<TraceRequest>&);
template void Market<40>(double, Generator&, std::vector<TraceRequest>&);

void Rotation(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  constexpr double kPeriod = 300;
  constexpr int kModels = 5;
  for (int model = 0; model < kModels; ++model) {
    const double phase = 2 * M_PI * model / kModels;
    // Two or three of the models are busy at any time.
    const auto rate = [phase](double at) {
      return 4 * std::pow(std::max(0.0, std::cos(2 * M_PI * at / kPeriod - phase)), 2);
    };
    for (const double at : PoissonArrivals(length, 4, rate, generator)) {
      requests.push_back(ChatRequest(at, absl::StrFormat("model-%c", 'a' + model), "", generator));
    }
  }
}

void MultiModel(double length, Generator& generator, std::vector<TraceRequest>& requests) {
  // Shares and lengths of a five-model hour: medians of prompt and output, their spread, tenants.
  struct Model {
    const char* name;
    double rate, prompt_mu, prompt_sigma, output_mu, output_sigma;
    int tenants;
  };
  constexpr Model kModels[] = {{"m-large", 6.8, 6.4, 0.9, 4.2, 0.9, 40},
                               {"m-mid", 5.1, 5.0, 1.1, 3.3, 1.1, 30},
                               {"m-small", 4.9, 4.6, 0.9, 1.9, 1.0, 25},
                               {"deepseek-r1", 2.0, 6.2, 1.2, 6.6, 1.0, 12},
                               {"mm-image", 1.2, 7.3, 0.7, 4.2, 1.0, 8}};
  for (const Model& model : kModels) {
    const double phase = 2 * M_PI * generator.Uniform();
    const auto rate = [&](double at) { return model.rate * (1 + 0.3 * std::sin(at / 60 + phase)); };
    for (const double at : PoissonArrivals(length, 1.3 * model.rate, rate, generator)) {
      TraceRequest request;
      request.arrival = Duration::Seconds(at);
      request.model = model.name;
      // Squaring a uniform draw makes the first tenants the large ones.
      const double pick = generator.Uniform() * generator.Uniform();
      const int tenant = static_cast<int>(pick * model.tenants);
      request.tenant = absl::StrFormat("%s-c%02d", model.name, tenant);
      // Tenants differ in what they ask for by up to a factor of e.
      const double habit = static_cast<double>(tenant) / model.tenants - 0.5;
      request.prompt = Between(generator.LogNormal(model.prompt_mu + habit, model.prompt_sigma), 1, 54'000);
      request.output = Between(generator.LogNormal(model.output_mu - habit, model.output_sigma), 1, 28'000);
      requests.push_back(request);
    }
  }
}

}  // namespace penstock::bench
