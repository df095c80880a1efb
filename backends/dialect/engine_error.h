// Errors of engines, in all the shapes that engines send. Pure and thread-safe.
#ifndef PENSTOCK_BACKENDS_DIALECT_ENGINE_ERROR_H_
#define PENSTOCK_BACKENDS_DIALECT_ENGINE_ERROR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

struct EngineError {
  // The status of the body where it has one between 400 and 599, else the HTTP status. An error inside a successful
  // answer without a status is 500; "overloaded" of TGI is 429, and its "validation" is 422.
  int status = 0;
  // At most 16 KiB of it; for plain text and unknown shapes, at most the first 2000 bytes of the body.
  std::string message;
  std::string type;
  std::string code;  // Only a code that is a word; a number goes into `status`.
  std::string param;
  // The message is a body of no known shape, such as a page of a proxy. It may name addresses: for the log only. It is
  // empty where the body is an answer, which no log may have.
  bool unknown_shape = false;
  bool in_answer = false;  // It came inside an answer whose status tells of success.
};

// The finish reason of a request that the engine gave up, because it ends or an operator wants so. vLLM and SGLang send
// it.
inline constexpr absl::string_view kFinishAborted = "abort";
// A request with that finish reason as an error of status 500.
EngineError AbortedByEngine();

// Reads {"error":{..}}, {"error":"..","error_type":".."}, a flat object, {"detail":..} of Python frameworks, the error
// events of the responses and messages dialects, and plain text. Never fails. One pass over the body, whatever its
// depth: an object that is deeper than the scanner's bound has no known shape.
EngineError ParseEngineError(int http_status, absl::string_view body);
// A whole answer of status 200 that is an error. Without a status of its own it is 502.
EngineError ErrorInAnswer(absl::string_view body);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ENGINE_ERROR_H_
