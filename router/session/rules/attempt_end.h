// The end of one attempt at an engine, as a value. Pure.
#ifndef PENSTOCK_ROUTER_SESSION_RULES_ATTEMPT_END_H_
#define PENSTOCK_ROUTER_SESSION_RULES_ATTEMPT_END_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/engine_error.h"
#include "router/labels/labels.h"
#include "router/openai/error/api_error.h"

namespace penstock {

// The reason of a request that an engine found bad.
inline constexpr absl::string_view kRejectedReason = "rejected";

struct AttemptEnd {
  enum class Kind : uint8_t {
    kFinished,
    kClientGone,
    kAborted,   // The core wants the request back.
    kCut,       // The router ends.
    kFailed,    // The engine did not finish it.
    kRejected,  // The engine found the request bad.
  };
  Kind kind = Kind::kFinished;
  // kFailed: the kind of failure. Another engine may do better unless `hopeless`.
  EngineErrorKind engine_error = EngineErrorKind::kServer;
  bool hopeless = false;
  // kRejected: the engine does not have the model. It did nothing, and another engine may have it.
  bool denied = false;
  // The engine is at fault: logged and counted as its error.
  bool engine_at_fault = false;
  // The engine is well: it gave an error, or an answer of another shape than the router needs.
  bool orderly = false;
  // The attempt asked for more than every engine gives, a stream or the rest of an answer. The same engine may get the
  // request again.
  bool excused = false;
  // The decode engine of a pair said so, and it was to take a cache over: it may compute the prompt, once.
  bool cache_lost = false;
  // The times that the engine got the whole request, and a part of it only.
  int writes = 0;
  int partial_writes = 0;
  // The error of kFailed and kRejected. On the heap, as the coroutines of a stream hold many ends.
  std::unique_ptr<ApiError> error;
};

AttemptEnd EndedBy(AttemptEnd::Kind kind);
// The engine did not answer, or its answer cannot be used. `message` is for the client, `detail` for the log only: it
// may name addresses.
AttemptEnd EngineFailed(EngineErrorKind kind, absl::string_view message, absl::string_view detail = "");
// The engine's answer is longer than the router takes. The request asked for it: another engine would do the same, and
// the health of the replica stays as it is.
AttemptEnd AnswerTooLong(absl::string_view message);
// Nothing was sent to the engine, which is not at fault.
AttemptEnd NothingSent(EngineErrorKind kind, absl::string_view message);
// Nothing was sent: this machine lacks descriptors, memory or ports. Another attempt would fail like this one.
AttemptEnd RouterShort();
// The answers that the router holds leave no memory for this one.
AttemptEnd NoAnswerMemory();
// The request ends because a limit of the router turns it away.
bool IsTurnedAway(const ApiError& error);
// An error that the engine itself sent. With `in_stream`, it came inside an answer that began well. With `resume_due`,
// the client waits for the rest of an answer, so the request cannot be bad.
AttemptEnd EngineSaid(const EngineError& error, bool in_stream, bool resume_due);
// The engine lacks the endpoint with `path`. `another`: an engine of the model has it.
AttemptEnd EndpointMissing(absl::string_view model, absl::string_view path, bool another = false);
// The engine answered a passed request with a status of 300 to 399. It is well, and others would do the same.
// `location`: for the log only.
AttemptEnd EngineRedirects(int status, absl::string_view location);
ApiError NoEngineServes(absl::string_view model, absl::string_view path);
// The engine's error says that it has no such path, not that a model is missing.
bool LacksPath(const EngineError& error);
// The engine's error says that it has no such model, which it listed before.
bool DeniesModel(const EngineError& error);
// llama-server in router mode, started with --no-models-autoload, says that the model is not in memory.
bool SaysAsleep(const EngineError& error);
// The part of an end that counts against the health of its replica.
enum class Blame : uint8_t {
  kNone,       // The engine is alive, or others judge it.
  kUnreached,  // The request could not be sent.
  kBroken,     // The answer was cut, garbled, or never came.
};
Blame BlameOf(const AttemptEnd& end);
// A read of the engine's answer failed. Nonsense before the head is no HTTP; `in_body` it is an answer that was cut.
EngineErrorKind ReadErrorKind(const absl::Status& status, bool in_body);
// The message for the client where the head of an answer could not be read. No byte of the engine is in it.
absl::string_view HeadFault(const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_RULES_ATTEMPT_END_H_
