// One request in the engine: it follows the sequences and turns tokens into the bytes of the answer.
//
// No I/O. A streamed answer grows with every step (events without HTTP frames); a whole answer exists at the end.
// The connection of the client owns the exchange. The destructor aborts all sequences, so a closed connection frees its
// memory at once. Same thread as the engine.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_EXCHANGE_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_EXCHANGE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/face/answer.h"
#include "backends/simulated/face/job.h"

namespace penstock::simulated {

class Exchange final : public SequenceListener {
 public:
  // `created` in Unix seconds. The exchange calls `on_change` after each step that changed it.
  Exchange(std::shared_ptr<Engine> engine, Job job, int64_t created, std::function<void()> on_change);
  ~Exchange() override;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void Start(Instant now);
  // Ends every sequence that runs or waits.
  void AbortAll();

  bool done() const { return done_; }
  // The HTTP status of a whole answer.
  int status() const { return status_; }
  const Job& job() const { return job_; }
  // The bytes to send. They are then gone from the exchange.
  std::string TakeOutput() { return std::exchange(out_, {}); }
  bool HasOutput() const { return !out_.empty(); }

  void OnToken(int choice) override;
  void OnEnd(int choice, const SequenceEnded& ended) override;
  void OnStep() override {
    FlushAll();
    on_change_();
  }

 private:
  struct Progress {
    SequenceId id = 0;
    bool live = false;
    int64_t made = 0;
    size_t bytes = 0;
    std::string pending;  // Text of this step's tokens: an event carries them all.
    ChoiceAnswer answer;
  };

  // Writes the tokens of the step.
  void Flush(int index);
  void FlushAll();
  // `first`: the first text of the choice.
  void Emit(int index, std::string_view text, bool first);
  void FinishChoice(int index, FinishReason reason);
  void Complete();
  void Fail(const ApiError& error);
  UsageCount Usage() const;
  bool Llama() const { return engine_->spec().LlamaDialect(); }

  std::shared_ptr<Engine> engine_;
  Job job_;
  int64_t created_;
  std::function<void()> on_change_;
  EventWriter events_;
  std::vector<Progress> progress_;
  size_t ended_ = 0;
  Tokens cached_{0};
  std::string out_;
  int status_ = 200;
  bool done_ = false;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_EXCHANGE_H_
