// One request in the engine: follows its sequences and turns tokens into the bytes of its answer.
//
// Pure of I/O. A streamed answer grows in `out` (SSE events, unframed) with every step; a whole one is there when it is
// done. Owned by the connection that asked; its destructor aborts what is still running, so a client that goes frees
// its memory at once on every way out. Same thread as the engine.
#ifndef PENSTOCK_BACKENDS_SIMULATED_EXCHANGE_H_
#define PENSTOCK_BACKENDS_SIMULATED_EXCHANGE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/simulated/answer.h"
#include "backends/simulated/engine.h"
#include "backends/simulated/job.h"

namespace penstock::simulated {

class Exchange final : public SequenceListener {
 public:
  // `created` in Unix seconds. `on_change` is called after each step that brought something.
  Exchange(std::shared_ptr<Engine> engine, Job job, int64_t created, std::function<void()> on_change);
  ~Exchange() override;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void Start(Instant now);
  // Ends every sequence that still runs or waits.
  void AbortAll();

  bool done() const { return done_; }
  // HTTP status of a whole answer.
  int status() const { return status_; }
  const Job& job() const { return job_; }
  // Bytes to send; taking them leaves none.
  std::string TakeOutput() { return std::exchange(out_, {}); }
  bool HasOutput() const { return !out_.empty(); }

  void OnToken(int choice) override;
  void OnEnd(int choice, const SequenceEnded& ended) override;
  void OnStep() override { on_change_(); }

 private:
  struct Progress {
    SequenceId id = 0;
    bool live = false;
    int64_t made = 0;
    size_t bytes = 0;
    ChoiceAnswer answer;
  };

  void Emit(int index, std::string_view text, bool first, bool last);
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

#endif  // PENSTOCK_BACKENDS_SIMULATED_EXCHANGE_H_
