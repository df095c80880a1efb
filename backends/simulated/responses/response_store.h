// The responses of one simulated engine: their runs, and the store in which they stay until the engine restarts.
//
// The engine answers as vLLM with VLLM_ENABLE_RESPONSES_API_STORE=1, and has DELETE and input_items besides. The store
// has kMost responses at most; the oldest ended one makes room. No I/O. Same thread as the engine.
#ifndef PENSTOCK_BACKENDS_SIMULATED_RESPONSES_RESPONSE_STORE_H_
#define PENSTOCK_BACKENDS_SIMULATED_RESPONSES_RESPONSE_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/face/exchange.h"
#include "backends/simulated/face/pages.h"
#include "backends/simulated/face/response_log.h"
#include "backends/simulated/responses/response_form.h"

namespace penstock::simulated {

// One response from its request to its end. Connections listen while they send it.
class ResponseRun {
 public:
  ResponseRun(std::shared_ptr<Engine> engine, Job job, ResponseOrder order, int64_t created);
  ResponseRun(const ResponseRun&) = delete;
  ResponseRun& operator=(const ResponseRun&) = delete;

  void Start(Instant now);
  // Ends it, if it has not ended.
  void Cancel();
  bool done() const { return log_->ended(); }
  const ResponseLog& log() const { return *log_; }
  const ResponseOrder& order() const { return order_; }
  // The conversation up to its end, as messages.
  nlohmann::json Conversation() const;

  // Calls `on_change` after each change, until StopListening.
  void Listen(const void* who, std::function<void()> on_change) { listeners_[who] = std::move(on_change); }
  void StopListening(const void* who) { listeners_.erase(who); }

  nlohmann::json earlier = nlohmann::json::array();  // The messages before those of the request.

 private:
  void Tell();

  const ResponseOrder order_;
  std::shared_ptr<ResponseLog> log_;
  absl::flat_hash_map<const void*, std::function<void()>> listeners_;
  std::unique_ptr<Exchange> exchange_;
};

// The answer to a request: a page, or a run to follow.
struct ResponseReply {
  std::optional<Page> page;
  std::shared_ptr<ResponseRun> run;
  size_t from = 0;      // The first event to send.
  bool stream = false;  // Else the object, at the end of the run.
  bool owned = false;   // The run ends with its connection.
};

// The whole answer of a response that has ended: its object, or an error.
Page PageOf(const ResponseLog& log, const Engine& engine);

class ResponseStore {
 public:
  static constexpr size_t kMost = 1000;

  // True: the path is one of responses.
  static bool Owns(std::string_view path);
  // `rank` runs a new response.
  ResponseReply Answer(const PageRequest& request, const JobHeaders& headers, const std::shared_ptr<Engine>& rank,
                       uint64_t serial, Instant now);
  // The engine restarted.
  void Clear();

 private:
  ResponseReply Create(const PageRequest& request, const JobHeaders& headers, const std::shared_ptr<Engine>& rank,
                       uint64_t serial, Instant now);
  ResponseReply Retrieve(const PageRequest& request, const std::shared_ptr<ResponseRun>& run) const;
  void Keep(const std::string& id, std::shared_ptr<ResponseRun> run);

  absl::flat_hash_map<std::string, std::shared_ptr<ResponseRun>> runs_;
  std::deque<std::string> order_;  // The oldest one first.
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_RESPONSES_RESPONSE_STORE_H_
