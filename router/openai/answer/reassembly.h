// A whole answer put together from a stream, up to a length. Pure. An event costs 10 ns a byte.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_REASSEMBLY_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_REASSEMBLY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/assembly/stream_assembler.h"
#include "backends/dialect/endpoint.h"
#include "base/json_pieces.h"

namespace penstock {

class Reassembly {
 public:
  static constexpr size_t kLongestEvent = 8 << 20;

  Reassembly(Endpoint endpoint, size_t longest) : assembler_(endpoint), longest_(longest) {}

  // The data of one event. False: it is longer than kLongestEvent, or the events than `longest` in all.
  bool Add(absl::string_view data, bool done) {
    if (data.size() > kLongestEvent) return false;
    size_ += data.size();
    if (!done && status_.ok()) status_ = assembler_.Add(data);
    return size_ <= longest_;
  }
  // The bytes of the answer so far.
  size_t bytes() const { return assembler_.bytes(); }
  // The body of the answer; the first error of the events otherwise.
  absl::StatusOr<JsonPieces> Body() {
    if (!status_.ok()) return status_;
    return assembler_.Finish();
  }

 private:
  StreamAssembler assembler_;
  const size_t longest_;
  absl::Status status_;
  size_t size_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_REASSEMBLY_H_
