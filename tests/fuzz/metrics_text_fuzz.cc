// Reads any bytes as metrics, and as the metrics of each engine.
#include <cstdint>

#include "backends/dialect/metrics_text.h"
#include "backends/engines/llamacpp/llamacpp_facts.h"
#include "backends/engines/tgi/tgi_facts.h"
#include "backends/engines/vllm/vllm_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  penstock::MetricsReader reader(text);
  while (auto sample = reader.Next()) sample->Label("engine");
  penstock::Discovery found;
  (void)penstock::ReadVllmCapacity(text, &found);
  (void)penstock::ReadTgiPool(text, &found);
  penstock::Observation seen;
  (void)penstock::ReadVllmLoad(text, found, &seen);
  (void)penstock::ReadTgiLoad(text, found, &seen);
  (void)penstock::ReadLlamaMetrics(text, found, &seen);
  return 0;
}
