// Splits a byte stream into server-sent events.
#ifndef PENSTOCK_BACKENDS_DIALECT_SSE_SPLITTER_H_
#define PENSTOCK_BACKENDS_DIALECT_SSE_SPLITTER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace penstock {

// Feed() appends bytes; Next() gives complete events one by one. The raw views of all events, in order and followed by
// Rest(), are exactly the bytes that were fed. Accepts \n, \r\n and \r, a byte order mark, `data:` with and without a
// space, comments and `event:` lines. It ignores other fields. Stray blank lines in a row are an event with `comment`
// set. Each byte is searched once, however small the pieces are. One owner, not thread-safe.
class SseSplitter {
 public:
  // An event with more lines is garbled: each line costs time, however short it is.
  static constexpr int kMostLines = 4096;
  // To read an event with more bytes of data may take longer than a turn of a loop should.
  static constexpr size_t kLong = 64 << 10;

  // Views into the buffer, valid until the next Feed().
  struct Event {
    absl::string_view raw;  // All bytes, the blank line included.
    // The data line. Several data lines are joined by \n; that view is valid until the next Next().
    absl::string_view data;
    absl::string_view name;  // The event line.
    bool comment = false;    // It has only comment lines.
    bool garbled = false;    // It has a line that is no field, so data may be missing.
  };
  void Feed(absl::string_view bytes);
  // The same without a copy, unless an event has begun.
  void FeedOwned(std::string bytes);
  std::optional<Event> Next();
  // Bytes of an event that has not ended. The caller bounds their growth.
  absl::string_view Rest() const;
  // The bytes that the views of the last event point into. Those of an event with long data stay valid. Nothing else
  // may be called before Return().
  struct Memory {
    std::string buffer;
    std::string joined;
  };
  Memory Lend() { return {std::move(buffer_), std::move(joined_)}; }
  void Return(Memory memory) {
    buffer_ = std::move(memory.buffer);
    joined_ = std::move(memory.joined);
  }
  // The bytes of the buffer. Those of a long event are given back with the first Feed() behind it.
  size_t memory() const { return buffer_.capacity(); }

 private:
  // The next line without its end. Null: its end has not come.
  std::optional<absl::string_view> NextLine();
  // Reads the lines of a whole event.
  void ReadLines(absl::string_view lines, Event& event);

  std::string buffer_;
  std::string joined_;
  size_t position_ = 0;  // Start of the first event that Next() has not given.
  size_t line_ = 0;      // Start of the first line that was not read.
  int lines_ = 0;        // Lines of that event that were read.
  size_t newline_ = 0;   // There is no \n between line_ and here.
  size_t return_ = 0;    // There is no \r between line_ and here.
  // The last line ended in \r alone. A blank line that begins there ends at its \r, without a wait for a \n.
  bool lone_return_ = false;
  bool begun_ = false;  // The stream has had an event.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_SSE_SPLITTER_H_
