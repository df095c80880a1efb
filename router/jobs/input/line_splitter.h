// Splits the bytes of a JSONL file into lines, wherever the pieces end. No I/O.
//
//   splitter.Offer(piece, last);
//   while (splitter.Next(line)) Use(line);   // The text lives until the next call.
//
// A line ends in \n or \r\n, the last one at the end of the file. Lines of white space alone are counted and not given.
// A line that is too long is given without its text. Memory: one line of at most `max_line` bytes. One owner.
#ifndef PENSTOCK_ROUTER_JOBS_INPUT_LINE_SPLITTER_H_
#define PENSTOCK_ROUTER_JOBS_INPUT_LINE_SPLITTER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

struct SplitLine {
  int64_t number = 0;  // From 1, empty lines counted.
  int64_t offset = 0;
  int64_t length = 0;  // Without its line end.
  bool too_long = false;
  absl::string_view text;  // Empty where it is too long.
};

class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line, InputPlace from = {}) : max_line_(max_line), place_(from) {}

  // The bytes behind those of the last call, once Next() has said false. `last`: the file ends with them.
  void Offer(absl::string_view bytes, bool last);
  // False: no further line is complete.
  bool Next(SplitLine& line);
  // Behind the newest line that Next() gave or passed over.
  InputPlace place() const { return place_; }

 private:
  // Ends the line whose bytes are kept_ and `rest`, followed by `end` bytes of line end. False: it is empty.
  bool Finish(absl::string_view rest, int64_t end, SplitLine& line);
  void Keep(absl::string_view bytes);

  const size_t max_line_;
  InputPlace place_;
  absl::string_view input_;
  std::string kept_;    // The beginning of the line, as far as it came with earlier pieces.
  int64_t length_ = 0;  // The length of that beginning, whether or not it is stored.
  bool given_ = false;  // kept_ is the text of the line that was given.
  bool last_ = false;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_INPUT_LINE_SPLITTER_H_
