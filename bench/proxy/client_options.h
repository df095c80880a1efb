// The options of proxy_client, and the request that they describe.
#ifndef PENSTOCK_BENCH_PROXY_CLIENT_OPTIONS_H_
#define PENSTOCK_BENCH_PROXY_CLIENT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::proxy_bench {

struct Options {
  int port = 0;
  std::string mode = "short";
  std::string model = "stub";
  int connections = 32;
  double seconds = 2;
  int64_t requests = 0;       // Ends a short run; 0: by time.
  double rate = 0;            // Requests per second, Poisson; 0: closed loop.
  size_t prompt = 1024;       // Bytes.
  int64_t events = 0;         // Events of a stream; 0: one answer, or an endless stream.
  int64_t interval = 20'000;  // Microseconds between events.
  std::vector<int> pids;
  std::string headers;  // Further headers, with their line ends.
};

// Unknown options are ignored. Sets the events and the interval that the mode needs.
Options ParseOptions(int argc, char** argv);

// Head and body of one request, with its order to the stub in a header and at the end of the prompt.
std::string RequestText(const Options& options);

}  // namespace penstock::proxy_bench

#endif  // PENSTOCK_BENCH_PROXY_CLIENT_OPTIONS_H_
