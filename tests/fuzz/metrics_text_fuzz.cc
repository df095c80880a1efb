// Any bytes read as metrics, and as the metrics of every engine.
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
  penstock::ReadVllmCapacity(text, &found);
  penstock::ReadVllmObservation(text);
  penstock::ReadLlamaMetrics(text);
  penstock::ReadTgiObservation(text);
  return 0;
}
