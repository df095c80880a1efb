// The HTTP request that stands for a request of the trace.
#ifndef PENSTOCK_BENCH_LOAD_LOAD_REQUEST_H_
#define PENSTOCK_BENCH_LOAD_LOAD_REQUEST_H_

#include <cstdint>
#include <string>

#include "bench/load/load_client.h"
#include "bench/load/load_target.h"
#include "bench/load/prompt_writer.h"
#include "bench/traces/trace.h"

namespace penstock::bench {

class RequestWriter {
 public:
  struct Written {
    std::string text;   // Head and body.
    int64_t words = 0;  // Words of the prompt.
  };

  // `options` outlives this object.
  explicit RequestWriter(const LoadClientOptions& options) : options_(options), prompts_(options.seed) {}

  // The model to ask for.
  const std::string& ModelOf(const TraceRequest& request) const;
  // The class to ask for: the trace's, else the one of all requests; empty: none.
  const std::string& ClassOf(const TraceRequest& request) const {
    return request.service_class.empty() ? options_.service_class : request.service_class;
  }
  // A streamed chat completion for `target`. Equal (seed, request, index) give equal texts until something is learned.
  Written Write(const TraceRequest& request, size_t index, const LoadTarget& target) const;
  // Learns tokens per word from the server's count.
  void Learn(int64_t words, Tokens prompt) { prompts_.Learn(words, prompt); }

 private:
  const LoadClientOptions& options_;
  PromptWriter prompts_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_LOAD_REQUEST_H_
