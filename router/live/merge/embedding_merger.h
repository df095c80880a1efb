// Embedding requests of one loop that wait for one engine go to it in one call.
//
// A request that finds no other of its kind at the engine goes alone, at once. Requests that come meanwhile gather
// until that one ends, none has come for a moment (gather_time.h), or the call is full. Each has a Place, which lives
// in its attempt. A merged call belongs to nobody: a request that leaves takes only its own part with it, and the call
// names no caller. A call that the engine refuses is divided, so a bad input fails alone and few others pay for it. Any
// other failure sends each request alone. After an answer that does not fit its inputs, nothing is merged for a while
// (merge_trust.h). The answer is read into the answers' budget, up to kMostAnswer; a longer one lowers the inputs per
// call. Owned by EventLoop; belongs to its thread. Costs O(bytes) per merged request.
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
#include "base/fair_budget.h"
#include "base/units.h"
#include "router/labels/labels.h"
#include "router/live/merge/merge_trust.h"
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
  HeaderList headers;         // For the engine, without those of the caller.
  Duration send_timeout;      // For connecting and writing.
  Instant deadline;           // For the whole answer.
  size_t longest_answer = 0;  // Bytes.
  FairBudget* memory = nullptr;
  Bytes memory_limit{0};
};

class EmbeddingMerger {
 public:
  static constexpr size_t kMostInputs = 128;
  static constexpr size_t kMostBytes = 64 << 10;
  static constexpr size_t kMostAnswer = 1 << 20;

  struct Hooks {
    std::function<void(MergeEnd, size_t)> on_end;                      // Each merged call, with its number of requests.
    std::function<void(const absl::Status&, Duration)> on_bad_answer;  // Its fault, and the pause that begins.
  };

  EmbeddingMerger(boost::asio::io_context& loop, Hooks hooks) : loop_(loop), hooks_(std::move(hooks)) {}

 private:
  struct Call;
  using Key = std::string;  // EmbeddingRequest::key.

 public:
  class Place {
   public:
    Place(EmbeddingMerger& merger, std::shared_ptr<UpstreamPool> pool, EmbeddingCall call);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Until the request has its part of a merged answer, has to go alone, is out of time, or left.
    boost::asio::awaitable<void> Wait();
    // The request needs its answer no more: Wait ends at once.
    void Leave();
    // The part; none: the request goes alone, or is out of time.
    std::optional<std::string>& answer() { return answer_; }
    // The deadline passed in a call.
    bool timed_out() const { return timed_out_; }

   private:
    friend class EmbeddingMerger;
    void GoAlone();
    void EndWith(std::optional<std::string> part, const absl::Status& status);

    EmbeddingMerger& merger_;
    const std::shared_ptr<UpstreamPool> pool_;
    const EmbeddingCall call_;
    Signal wake_;
    boost::asio::steady_timer deadline_;
    const std::shared_ptr<Place*> self_ = std::make_shared<Place*>(this);
    std::shared_ptr<Call> in_;  // The call that it gathers or waits in.
    std::optional<std::string> answer_;
    bool timed_out_ = false;
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
  // Sends the requests that gathered in the call.
  void Launch(const std::shared_ptr<Call>& call);
  // Sends the two halves of a call that the engine refused.
  void Divide(Call& call);
  // Follows the end of a merged call.
  void Learn(const Call& call, const absl::Status& ended);
  // One call less at the engine.
  void Ended(const Key& key);
  boost::asio::awaitable<void> Run(std::shared_ptr<Call> call);

  boost::asio::io_context& loop_;
  const Hooks hooks_;
  absl::flat_hash_map<Key, Lane> lanes_;
  MergeTrust trust_;
  size_t most_inputs_ = kMostInputs;  // Per call; as many as answers of kMostAnswer hold.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_MERGE_EMBEDDING_MERGER_H_
