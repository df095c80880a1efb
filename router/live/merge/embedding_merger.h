// Embedding requests of one loop that wait for one engine go to it in one call.
//
// A request that finds no other of its kind at the engine goes alone, at once. Requests that come meanwhile gather
// until that one ends, until kMostWait has passed, or until the call is full. Each has a Place, which lives in its
// attempt. A merged call belongs to nobody: a request that leaves takes only its own part with it. A call that fails in
// any way sends each of its requests alone. So a bad input fails alone, and the answer to it is the engine's own. Owned
// by EventLoop; belongs to its thread. Costs O(bytes) per merged request.
#ifndef PENSTOCK_ROUTER_LIVE_MERGE_EMBEDDING_MERGER_H_
#define PENSTOCK_ROUTER_LIVE_MERGE_EMBEDDING_MERGER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/transport/upstream.h"
#include "router/labels/labels.h"
#include "router/live/signal.h"
#include "router/openai/embedding/embedding_merge.h"

namespace penstock {

// One request as the merger needs it.
struct EmbeddingCall {
  EmbeddingRequest request;   // Its inputs are views into `body`.
  absl::string_view body;     // As the client sent it; outlives the place.
  int64_t tokens = 1;         // Estimated.
  std::string target;         // Path at the engine.
  std::string engine_model;   // Empty: the model stays as it is.
  HeaderList headers;         // For the engine.
  Duration send_timeout;      // For connecting and writing.
  Duration answer_timeout;    // For the first byte and for the rest.
  size_t longest_answer = 0;  // Bytes.
};

class EmbeddingMerger {
 public:
  static constexpr Duration kMostWait = Duration::Milliseconds(4);
  static constexpr size_t kMostInputs = 128;
  static constexpr size_t kMostBytes = 64 << 10;

  // `on_end` hears of each merged call, with its number of requests.
  EmbeddingMerger(boost::asio::io_context& loop, std::function<void(MergeEnd, size_t)> on_end)
      : loop_(loop), on_end_(std::move(on_end)) {}

 private:
  struct Call;
  using Key = std::string;  // EmbeddingRequest::key.

 public:
  class Place {
   public:
    Place(EmbeddingMerger& merger, UpstreamPool& pool, EmbeddingCall call);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Until the request has its part of a merged answer, has to go alone, or left.
    boost::asio::awaitable<void> Wait();
    // The request needs its answer no more: Wait ends at once.
    void Leave();
    // The part, and the headers of the engine's answer; none: the request goes alone.
    std::optional<std::string>& answer() { return answer_; }
    const HeaderList& headers() const { return headers_; }

   private:
    friend class EmbeddingMerger;
    void GoAlone();

    EmbeddingMerger& merger_;
    UpstreamPool& pool_;
    const EmbeddingCall call_;
    Signal wake_;
    std::shared_ptr<Call> in_;  // The call that it gathers or waits in.
    std::optional<std::string> answer_;
    HeaderList headers_;
    bool alone_ = false;  // It counts at the engine by itself.
    bool left_ = false;
  };

 private:
  struct Lane {
    int at_engine = 0;           // Calls of the kind, merged ones too.
    std::shared_ptr<Call> open;  // Gathers requests; may be null.
  };

  void Join(Place& place);
  void Remove(Place& place);
  void Start(const Key& key);
  // One call less at the engine.
  void Ended(const Key& key);
  boost::asio::awaitable<void> Run(std::shared_ptr<Call> call);

  boost::asio::io_context& loop_;
  const std::function<void(MergeEnd, size_t)> on_end_;
  absl::flat_hash_map<Key, Lane> lanes_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_MERGE_EMBEDDING_MERGER_H_
