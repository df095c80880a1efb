// Any bytes may stand where a form should. The parts are the same wherever the pieces end, and a fault stays one.
#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "router/multipart/multipart_scanner.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::MultipartScanner;
using Event = MultipartScanner::Event;

constexpr absl::string_view kBoundary = "b";

// Everything that the scanner says, in one text: names, bytes, ends and the fault.
std::string Scan(absl::string_view bytes, size_t piece) {
  MultipartScanner scanner(kBoundary);
  std::string said;
  while (true) {
    switch (scanner.Next()) {
      case Event::kPart:
        said += "\npart " + scanner.part().name + " " + scanner.part().filename.value_or("-") + " ";
        Expect(scanner.part().filename.value_or("").find('/') == std::string::npos, "a file name has no folder");
        break;
      case Event::kData:
        Expect(!scanner.data().empty(), "data is not empty");
        said.append(scanner.data().data(), scanner.data().size());
        break;
      case Event::kPartEnd:
        said += "\nend";
        break;
      case Event::kEnd:
        Expect(scanner.Next() == Event::kEnd, "the end stays");
        return said + "\nend of all";
      case Event::kFailed:
        Expect(!scanner.fault().empty() && scanner.Next() == Event::kFailed, "a fault has a name and stays");
        return said + "\nfault";
      case Event::kNeedMore:
        if (bytes.empty()) return said;
        scanner.Offer(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
        break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = Scan(bytes, std::max<size_t>(1, size));
  for (const size_t piece : {1, 2, 3, 7}) Expect(Scan(bytes, piece) == whole, "pieces make no difference");
  const auto boundary = MultipartScanner::BoundaryOf(bytes);
  Expect(!boundary || (!boundary->empty() && boundary->size() <= MultipartScanner::kMaxBoundary), "a boundary is sane");
  return 0;
}
