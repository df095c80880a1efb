// What differs between engines, behind one interface: discovery, observation, and the capabilities the relay must
// respect.
//
// One adapter per engine kind, stateless except for what it learned about its one engine; used on the control loop for
// Discover and Poll, and read (const, thread-safe) by relays for its Capabilities. Adding an engine: CONTRIBUTING.md.
#ifndef PENSTOCK_BACKENDS_ENGINES_ADAPTER_H_
#define PENSTOCK_BACKENDS_ENGINES_ADAPTER_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/discovery.h"
#include "backends/transport/upstream.h"
#include "base/units.h"

namespace penstock {

// What the relay must do and must not do with this engine.
struct Capabilities {
  bool asks_usage_with_stream_options = true;  // Understands stream_options.include_usage.
  bool stream_everything = false;    // Non-streamed requests go upstream as streams and are reassembled (llama-server).
  bool closes_after_stream = false;  // Do not pool a connection after a streamed answer.
  bool continues_final_message = true;  // Chat: a trailing assistant message is continued.
  bool supports_embeddings = true;
  bool supports_responses = false;
  bool supports_rerank = false;
  Duration idle_limit = Duration::Seconds(4);
  Duration abort_memory_hold;  // After a close, memory may stay taken this long.
  std::string health_path = "/health";
  std::string tokenize_path;  // Empty: none.
};

class EngineAdapter {
 public:
  virtual ~EngineAdapter() = default;
  virtual EngineKind kind() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  // Everything that can be learned at start and after every return to health. Unavailable while loading or down.
  virtual boost::asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key) = 0;
  // One cheap observation, at most every 250 ms.
  virtual boost::asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key) = 0;
};

// The adapter of a kind; kAuto is resolved by DetectEngine first.
std::unique_ptr<EngineAdapter> MakeAdapter(EngineKind kind);
// Asks the engine what it is, by its own endpoints (vLLM /version + vllm: metrics, llama-server /props, SGLang
// /server_info, TGI /info, Ollama /api/version), else kOpenAi. Unavailable when nothing answers or it is loading.
boost::asio::awaitable<absl::StatusOr<EngineKind>> DetectEngine(UpstreamPool& pool, absl::string_view key);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_ADAPTER_H_
