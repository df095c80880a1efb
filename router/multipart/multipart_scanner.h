// Reads multipart/form-data (RFC 7578) wherever its pieces end. No I/O; it stores no byte of a part.
//
//   MultipartScanner scanner(*MultipartScanner::BoundaryOf(content_type));
//   scanner.Offer(bytes);
//   while (true) switch (scanner.Next()) {
//     case Event::kPart: scanner.part() ...            a part begins
//     case Event::kData: scanner.data() ...            bytes of it; they live until the next call
//     case Event::kPartEnd: ...
//     case Event::kNeedMore: Offer() the next piece, or fail where there is none
//     case Event::kEnd: case Event::kFailed: return;
//   }
//
// One owner. A byte of a part costs a search for a line end.
#ifndef PENSTOCK_ROUTER_MULTIPART_MULTIPART_SCANNER_H_
#define PENSTOCK_ROUTER_MULTIPART_MULTIPART_SCANNER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

struct FormPart {
  std::string name;
  std::optional<std::string> filename;  // Without folders. Set: the part is a file.
  std::string content_type;             // As sent; empty: none.
};

class MultipartScanner {
 public:
  static constexpr size_t kMaxBoundary = 70;
  static constexpr size_t kMaxPartHead = 8 << 10;
  static constexpr int kMaxParts = 64;

  enum class Event { kNeedMore, kPart, kData, kPartEnd, kEnd, kFailed };

  // Nullopt: the content type is not multipart/form-data, or has no usable boundary.
  static std::optional<std::string> BoundaryOf(absl::string_view content_type);

  explicit MultipartScanner(absl::string_view boundary);

  // The bytes behind those of the last call, once Next() has said kNeedMore. They stay until it says so again.
  void Offer(absl::string_view bytes) { input_ = bytes; }
  Event Next();
  // After kPart, until the next one.
  const FormPart& part() const { return part_; }
  // After kData; never empty.
  absl::string_view data() const { return data_; }
  // After kFailed.
  absl::string_view fault() const { return fault_; }

 private:
  enum class State : uint8_t {
    kPreamble,   // Before the first delimiter.
    kDelimiter,  // Behind a delimiter, on its line.
    kDash,       // Behind its first dash.
    kLineEnd,    // Behind its carriage return.
    kHead,       // The header lines of a part.
    kData,
    kEnd,
    kFailed,
  };

  Event Fail(absl::string_view fault);
  // Looks for the next delimiter. data_ is what lies before it.
  bool FindDelimiter();
  Event TakePreamble();
  Event TakeData();
  // One byte of the line of a delimiter.
  Event TakeLine(char c);
  Event TakeHead();
  Event ReadHead(absl::string_view head);
  bool TakeField(absl::string_view line);

  const std::string delimiter_;  // CR LF and two dashes included.
  absl::string_view input_;
  absl::string_view data_;
  absl::string_view fault_;
  std::string head_;
  FormPart part_;
  size_t matched_;  // Bytes of the delimiter at the end of what was read.
  size_t unreal_;   // Of those, bytes that only count as read.
  size_t preamble_ = 0;
  int parts_ = 0;
  State state_ = State::kPreamble;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_MULTIPART_MULTIPART_SCANNER_H_
