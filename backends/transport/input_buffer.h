// The unparsed input of one connection.
//
// A read goes into one buffer of the thread, and the input is a view of it, so a connection that waits holds no memory.
// The rest that a parse leaves moves into memory of its own. One owner, not thread-safe. Costs a copy of the rest only.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_INPUT_BUFFER_H_
#define PENSTOCK_BACKENDS_TRANSPORT_INPUT_BUFFER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

class InputBuffer {
 public:
  // The input that was not consumed. May lie in the buffer of the thread: parse it before the next read of any
  // connection.
  absl::string_view view() const { return input_; }

  // Adds `read`, which lies in the buffer of the thread. Invalidates views into consumed input.
  void Append(absl::string_view read);
  // Removes the first `count` bytes. They stay in place until the next Append(). Precondition: count <= view().size().
  void Consume(size_t count);

 private:
  std::string carry_;
  absl::string_view input_;  // Lies in carry_ or in the buffer of the thread.
  bool in_carry_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_INPUT_BUFFER_H_
