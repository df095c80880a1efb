// Any bytes may be the input of a batch. The lines are the same wherever the pieces end, and every line lies where it
// says. Each line is a request or has a fault with a name.
#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "router/jobs/input/batch_line.h"
#include "router/jobs/input/line_splitter.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::jobs::BatchLine;
using penstock::jobs::LineFault;
using penstock::jobs::LineSplitter;
using penstock::jobs::SplitLine;

constexpr size_t kMaxLine = 200;

struct Found {
  int64_t number;
  int64_t offset;
  int64_t length;
  bool too_long;
  std::string text;
  bool operator==(const Found&) const = default;
};

std::vector<Found> Split(absl::string_view bytes, size_t piece) {
  LineSplitter splitter(kMaxLine);
  std::vector<Found> lines;
  SplitLine line;
  while (true) {
    const absl::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    splitter.Offer(next, bytes.empty());
    while (splitter.Next(line)) {
      lines.push_back({line.number, line.offset, line.length, line.too_long, std::string(line.text)});
    }
    if (bytes.empty()) return lines;
  }
}

void CheckLine(absl::string_view text) {
  const auto read = penstock::jobs::ReadBatchLine(text, "/v1/chat/completions");
  if (const auto* fault = std::get_if<LineFault>(&read)) {
    Expect(!fault->code.empty() && !fault->message.empty(), "a fault has a name");
    Expect(fault->column >= 0 && fault->column <= static_cast<int64_t>(text.size()) + 1, "its column is in the line");
    return;
  }
  const BatchLine& line = std::get<BatchLine>(read);
  Expect(!line.custom_id.empty() && !line.model.empty(), "a request has an id and a model");
  Expect(line.body.size() >= 2 && line.body.front() == '{' && line.body.back() == '}', "its body is an object");
  Expect(line.body.data() >= text.data() && line.body.data() + line.body.size() <= text.data() + text.size(),
         "its body is a part of the line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<Found> whole = Split(bytes, std::max<size_t>(1, size));
  for (const size_t piece : {1, 2, 5}) Expect(Split(bytes, piece) == whole, "pieces make no difference");
  int64_t end = 0;
  for (const Found& line : whole) {
    Expect(line.offset >= end && line.offset + line.length <= static_cast<int64_t>(size),
           "lines lie one behind another");
    end = line.offset + line.length;
    if (line.too_long) continue;
    Expect(bytes.substr(static_cast<size_t>(line.offset), static_cast<size_t>(line.length)) == line.text,
           "a line lies where it says");
    CheckLine(line.text);
  }
  return 0;
}
