#include "backends/simulated/face/metrics_page.h"

#include <cstdio>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::simulated {
namespace {

std::string NumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// Escapes a label value.
std::string LabelText(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

class MetricsText {
 public:
  // `labels`: inside of the braces, for the samples to come.
  explicit MetricsText(std::string labels) : labels_(std::move(labels)) {}

  // The page goes on with another rank: its samples join the families that are there.
  void SetLabels(std::string labels) { labels_ = std::move(labels); }
  void Family(const std::string& name, const char* type, const char* help) {
    current_ = families_.try_emplace(name, texts_.size()).first->second;
    if (current_ < texts_.size()) return;
    texts_.push_back("# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n");
  }
  void Sample(const std::string& name, double value, const std::string& extra = "") {
    const std::string labels = labels_ + (labels_.empty() || extra.empty() ? "" : ",") + extra;
    texts_[current_] += name + (labels.empty() ? "" : "{" + labels + "}") + " " + NumberText(value) + "\n";
  }
  void Gauge(const std::string& name, double value, const char* help) {
    Family(name, "gauge", help);
    Sample(name, value);
  }
  void Counter(const std::string& name, double value, const char* help) {
    Family(name, "counter", help);
    Sample(name, value);
  }
  void Add(const std::string& name, const Histogram& histogram, const char* help) {
    Family(name, "histogram", help);
    int64_t below = 0;
    for (size_t i = 0; i < histogram.counts().size(); ++i) {
      below += histogram.counts()[i];
      const bool last = i == histogram.bounds().size();
      Sample(name + "_bucket", static_cast<double>(below),
             "le=\"" + (last ? std::string("+Inf") : NumberText(histogram.bounds()[i])) + "\"");
    }
    Sample(name + "_sum", histogram.sum());
    Sample(name + "_count", static_cast<double>(below));
  }
  std::string Take() {
    std::string all;
    for (const std::string& text : texts_) all += text;
    return all;
  }

 private:
  std::string labels_;
  std::map<std::string, size_t> families_;  // Positions in texts_.
  std::vector<std::string> texts_;          // One per family.
  size_t current_ = 0;
};

double Share(const EngineGauges& gauges) {
  return static_cast<double>(gauges.used.value()) / static_cast<double>(gauges.total.value());
}

void AddCacheConfig(const Engine& engine, const EngineGauges& gauges, MetricsText& page) {
  const EngineLimits& limits = engine.spec().limits;
  const int64_t tokens = gauges.total.value() * limits.block.value();
  const std::string labels =
      "block_size=\"" + std::to_string(limits.block.value()) + "\",num_gpu_blocks=\"" +
      std::to_string(gauges.total.value() + 1) + "\",kv_cache_size_tokens=\"" + std::to_string(tokens) +
      "\",kv_cache_max_concurrency=\"" + NumberText(static_cast<double>(tokens) / engine.MaxContext().AsDouble()) +
      "\",cache_dtype=\"auto\",gpu_memory_utilization=\"0.92\",enable_prefix_caching=\"" +
      (limits.prefix_cache ? "True" : "False") +
      "\",num_gpu_blocks_override=\"None\",sliding_window=\"None\",kv_cache_memory_bytes=\"None\"";
  page.Family("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
  page.Sample("vllm:cache_config_info", 1, labels);
}

void AddCounters(const Engine& engine, const EngineGauges& gauges, MetricsText& page) {
  page.Counter("vllm:num_preemptions_total", static_cast<double>(gauges.preemptions),
               "Cumulative number of preemptions from the engine.");
  page.Counter("vllm:prefix_cache_queries_total", static_cast<double>(gauges.prefix_queries),
               "Prefix cache queries, in tokens.");
  page.Counter("vllm:prefix_cache_hits_total", static_cast<double>(gauges.prefix_hits),
               "Prefix cache hits, in cached tokens.");
  if (engine.spec().limits.host_tokens > Tokens(0)) {
    page.Counter("vllm:external_prefix_cache_queries_total", static_cast<double>(gauges.host_queries),
                 "External prefix cache queries, in tokens.");
    page.Counter("vllm:external_prefix_cache_hits_total", static_cast<double>(gauges.host_hits),
                 "External prefix cache hits, in cached tokens.");
  }
  page.Counter("vllm:prompt_tokens_total", static_cast<double>(gauges.prompt_tokens),
               "Number of prefill tokens processed.");
  page.Counter("vllm:generation_tokens_total", static_cast<double>(gauges.generated_tokens),
               "Number of generation tokens processed.");
  page.Family("vllm:request_success_total", "counter", "Count of successfully processed requests.");
  const std::pair<const char*, int64_t> reasons[] = {{"stop", engine.stats().stopped},
                                                     {"length", engine.stats().by_length},
                                                     {"abort", gauges.aborted},
                                                     {"error", gauges.failed},
                                                     {"repetition", 0}};
  for (const auto& [reason, count] : reasons) {
    page.Sample("vllm:request_success_total", static_cast<double>(count),
                std::string("finished_reason=\"") + reason + "\"");
  }
}

void AddHistograms(const EngineStats& stats, MetricsText& page) {
  page.Add("vllm:time_to_first_token_seconds", stats.first_token, "Histogram of time to first token in seconds.");
  page.Add("vllm:inter_token_latency_seconds", stats.inter_token, "Histogram of inter-token latency in seconds.");
  page.Add("vllm:request_time_per_output_token_seconds", stats.per_output_token,
           "Histogram of time per output token of requests in seconds.");
  page.Add("vllm:e2e_request_latency_seconds", stats.whole, "Histogram of end to end request latency in seconds.");
  page.Add("vllm:request_prompt_tokens", stats.prompt_tokens, "Number of prefill tokens processed.");
  page.Add("vllm:request_generation_tokens", stats.output_tokens, "Number of generation tokens processed.");
}

// All figures of one rank.
void AddRank(const Engine& engine, MetricsText& page) {
  const EngineGauges gauges = engine.Gauges();
  page.Gauge("vllm:num_requests_running", gauges.running, "Number of requests in model execution batches.");
  page.Gauge("vllm:num_requests_waiting", gauges.waiting, "Number of requests waiting to be processed.");
  page.Family("vllm:num_requests_waiting_by_reason", "gauge", "Number of requests waiting, by reason.");
  page.Sample("vllm:num_requests_waiting_by_reason", gauges.waiting, "reason=\"capacity\"");
  page.Sample("vllm:num_requests_waiting_by_reason", 0, "reason=\"deferred\"");
  page.Gauge("vllm:kv_cache_usage_perc", Share(gauges), "KV-cache usage. 1 means 100 percent usage.");
  page.Family("vllm:engine_sleep_state", "gauge", "Engine sleep state; awake = 1 means it is not sleeping.");
  page.Sample("vllm:engine_sleep_state", engine.sleep().says_asleep() ? 0 : 1, "sleep_state=\"awake\"");
  page.Sample("vllm:engine_sleep_state", engine.sleep().says_asleep() ? 1 : 0, "sleep_state=\"weights_offloaded\"");
  page.Sample("vllm:engine_sleep_state", 0, "sleep_state=\"discard_all\"");
  AddCacheConfig(engine, gauges, page);
  AddCounters(engine, gauges, page);
  AddHistograms(engine.stats(), page);
  if (engine.spec().limits.tokens_per_step <= 1) return;
  page.Counter("vllm:spec_decode_num_drafts_total", static_cast<double>(gauges.steps),
               "Number of spec decoding drafts.");
}

// The API server counts calls of all ranks together.
void AddCalls(std::span<const Engine* const> ranks, MetricsText& page) {
  int64_t calls = 0;
  for (const Engine* rank : ranks) calls += rank->stats().embedding_calls;
  page.SetLabels("");
  page.Family("http_requests_total", "counter", "Total number of requests by method, status and handler.");
  page.Sample("http_requests_total", static_cast<double>(calls),
              "handler=\"/v1/embeddings\",method=\"POST\",status=\"2xx\"");
}

}  // namespace

std::string VllmMetrics(std::span<const Engine* const> ranks) {
  MetricsText page("");
  for (size_t i = 0; i < ranks.size(); ++i) {
    page.SetLabels("engine=\"" + std::to_string(i) + "\",model_name=\"" + LabelText(ranks[i]->spec().model) + "\"");
    AddRank(*ranks[i], page);
  }
  AddCalls(ranks, page);
  return page.Take();
}

std::string LlamaMetrics(const Engine& engine) {
  const EngineGauges gauges = engine.Gauges();
  const EngineStats& stats = engine.stats();
  MetricsText page("");
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  page.Counter("llamacpp:prompt_tokens_total", number(gauges.prompt_tokens),
               "Number of prompt tokens processed, excluding cached tokens");
  page.Counter("llamacpp:prompt_tokens_cached_total", 0, "Number of prompt tokens reused from the cache");
  page.Counter("llamacpp:prompt_seconds_total", stats.prefill_seconds, "Total time spent processing prompts");
  page.Counter("llamacpp:tokens_predicted_total", number(gauges.generated_tokens),
               "Number of generation tokens processed");
  page.Counter("llamacpp:tokens_predicted_seconds_total", stats.decode_seconds, "Total time spent generating tokens");
  page.Counter("llamacpp:n_decode_total", number(gauges.steps), "Total number of llama_decode() calls");
  page.Counter("llamacpp:n_tokens_max", number(stats.longest), "Largest observed sequence length");
  page.Gauge("llamacpp:prompt_tokens_seconds", 0, "Average prompt throughput in tokens/s");
  page.Gauge("llamacpp:predicted_tokens_seconds", 0, "Average generation throughput in tokens/s");
  page.Gauge("llamacpp:requests_processing", gauges.running, "Number of requests processing");
  page.Gauge("llamacpp:requests_deferred", gauges.waiting, "Number of requests deferred");
  page.Gauge("llamacpp:n_busy_slots_per_decode",
             gauges.steps == 0 ? 0 : number(stats.busy_slots) / number(gauges.steps),
             "Average number of busy slots per llama_decode() call");
  return page.Take();
}

}  // namespace penstock::simulated
