// Any bytes, in pieces of any size, are a client's bytes. They become requests within their limits with one length
// each, or one error. Pieces of another size make no difference. The first byte chooses the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/http/request/request_reader.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::ClientRequest;
using penstock::RequestReader;

constexpr size_t kHeaderLimit = 2048;
constexpr size_t kBodyLimit = 16 << 10;

std::string Text(const ClientRequest& request) {
  std::string text = request.method + " " + request.target + "\n";
  for (const auto& [name, value] : request.headers) absl::StrAppend(&text, name, "=", value, "\n");
  return absl::StrCat(text, "\n", request.body.view(), "\n");
}

void Check(const ClientRequest& request) {
  int lengths = 0, encodings = 0;
  for (const auto& [name, value] : request.headers) {
    lengths += absl::EqualsIgnoreCase(name, "content-length") ? 1 : 0;
    encodings += absl::EqualsIgnoreCase(name, "transfer-encoding") ? 1 : 0;
    for (char c : absl::StrCat(name, value))
      Expect(c != '\r' && c != '\n' && c != '\0', "no header holds a line break or a zero");
  }
  Expect(lengths + encodings <= 1, "a request has one length");
  Expect(request.body.size() <= kBodyLimit, "a body is within its limit");
}

std::string Read(absl::string_view bytes, size_t piece) {
  penstock::FairBudget memory;
  RequestReader reader(RequestReader::Limits{kHeaderLimit, kBodyLimit, &memory, penstock::Bytes(1 << 20)});
  std::string seen;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Append(bytes.substr(at, piece));
    for (bool more = true; more;) {
      const RequestReader::State state = reader.Advance();
      if (state == RequestReader::State::kNeedMore) {
        Expect(!reader.InBody() || reader.unread().empty(), "framing waits in no buffer");
      }
      // A block may be four times as large as its bytes.
      Expect(memory.used() <= penstock::Bytes(static_cast<int64_t>(4 * (kHeaderLimit + kBodyLimit + piece))),
             "memory is within the limits of head and body");
      switch (state) {
        case RequestReader::State::kNeedMore:
          more = false;
          break;
        case RequestReader::State::kHeadDone:
          break;
        case RequestReader::State::kDone: {
          const ClientRequest request = reader.Take();
          Check(request);
          seen += Text(request);
          more = !reader.Idle();
          break;
        }
        case RequestReader::State::kFailed:
          return seen;
      }
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Read(bytes, bytes.size() + 1);
  const std::string pieces = Read(bytes, 1 + data[0]);
  // Below the limit only: the pieces decide how much of an incomplete head counts against its limit. Bytes that can
  // only become an error may be refused at once or later.
  if (bytes.size() < kHeaderLimit) Expect(whole == pieces, "pieces of any size make the same requests");
  return 0;
}
