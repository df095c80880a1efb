// The bytes of an answer in both dialects: events, whole JSON answers and errors.
//
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_ANSWER_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_ANSWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/simulated/face/job.h"
#include "backends/simulated/messages/messages.h"
#include "base/units.h"

namespace penstock::simulated {

struct UsageCount {
  Tokens prompt{0};
  Tokens output{0};
  Tokens cached{0};
};

// The outcome of one choice, for whole answers.
struct ChoiceAnswer {
  std::string text;
  FinishReason reason = FinishReason::kStop;
  std::string stop;  // The stop string that ended the text, or empty.
};

// Writes the events of one streamed answer.
class EventWriter {
 public:
  EventWriter(const Job& job, bool llama, int64_t created);

  // The role event of a chat. It comes before the first text of a choice. A message begins with `usage`.
  void Role(int choice, const UsageCount& usage, std::string& out) const;
  // `text` is not empty.
  void Text(int choice, std::string_view text, std::string& out) const;
  // One token of the arguments of a tool call. The first token opens the call.
  void ToolText(int choice, std::string_view text, bool first, std::string& out) const;
  // Writes `usage` where the dialect has it in this event.
  void Finish(int choice, FinishReason reason, std::string_view stop, const UsageCount& usage, std::string& out) const;
  void Usage(const UsageCount& usage, std::string& out) const;
  void Done(std::string& out) const;
  // The error that ends a stream.
  void Error(std::string_view body, std::string& out) const;

 private:
  void Open(std::string& out) const;
  void Close(std::string& out) const;

  bool llama_;
  bool chat_;
  std::optional<MessageEvents> message_;  // Anthropic's dialect.
  std::shared_ptr<ResponseLog> log_;      // A response: its events go there.
  std::string tool_;
  std::string id_;
  std::string head_;
  std::string tail_;
};

std::string WholeAnswer(const Job& job, bool llama, int64_t created, const std::vector<ChoiceAnswer>& choices,
                        const UsageCount& usage);
std::string EmbeddingAnswer(const Job& job, uint64_t seed, int64_t created, const UsageCount& usage);

// The error object of the dialect.
std::string ErrorBody(const ApiError& error, bool llama, Tokens context, Route route = Route::kChat);
// The error that every running request gets when the pool is exhausted.
ApiError PoolExhausted();

std::string Quoted(std::string_view text);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_ANSWER_H_
