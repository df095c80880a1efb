// Any bytes as the answer of an engine. The first byte says how they are cut. Wherever they are cut, the parser finds
// the same status, fields and body, and the same end or fault. It hands out no byte that was not sent.
#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/transport/response_parser.h"
#include "tests/fuzz/expect.h"

namespace {

namespace http = boost::beast::http;

constexpr uint32_t kHeadLimit = 1024;

struct Seen {
  bool failed = false;
  bool head = false;
  bool done = false;
  int status = 0;
  size_t fields = 0;
  std::string body;
};

// Parses what is there, as the exchange does. False: more is needed, or nothing more may come.
bool ParseSome(penstock::ResponseParser& parser, std::string& input, Seen& seen) {
  boost::beast::error_code error;
  const size_t used = parser.Parse(input, error);
  Expect(used <= input.size(), "no more is consumed than there is");
  seen.body.append(parser.body().data(), parser.body().size());
  parser.DropBody();
  input.erase(0, used);
  seen.failed = error && error != http::error::need_more;
  return !error && used > 0 && !parser.is_done() && !input.empty();
}

Seen Read(absl::string_view bytes, size_t piece) {
  penstock::ResponseParser parser(kHeadLimit);
  Seen seen;
  std::string input;
  while (!bytes.empty() && !seen.failed && !parser.is_done()) {
    const absl::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    input.append(next.data(), next.size());
    while (ParseSome(parser, input, seen)) continue;
  }
  boost::beast::error_code error;
  if (!seen.failed && !parser.is_done() && parser.is_header_done()) parser.put_eof(error);
  seen.failed = seen.failed || static_cast<bool>(error);
  seen.head = parser.is_header_done();
  seen.done = parser.is_done();
  seen.status = parser.head().status;
  seen.fields = parser.head().headers.size();
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Seen whole = Read(bytes, std::max<size_t>(1, bytes.size()));
  Expect(whole.body.size() <= bytes.size(), "a body has bytes that were sent");
  Expect(!whole.done || whole.status >= 100, "an answer has a status");
  const Seen cut = Read(bytes, 1 + data[0] % 64);
  // A fault of a head may be seen only when the rest of the head is there.
  // A head that ends at its limit may be too long only where its last lines come in pieces.
  if (cut.failed && bytes.size() >= kHeadLimit) return 0;
  Expect(whole.failed || !cut.failed, "cuts make no fault");
  Expect(whole.done || !cut.done, "cuts end nothing");
  if (whole.failed) return 0;
  Expect(cut.done == whole.done, "cuts make no difference for the end");
  Expect(cut.head == whole.head, "nor for the end of the head");
  if (!whole.head) return 0;
  Expect(cut.status == whole.status && cut.fields == whole.fields, "nor for the head");
  Expect(cut.body == whole.body, "nor for the body");
  return 0;
}
