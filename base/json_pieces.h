// One JSON text that is written piece by piece, so a long one does not hold its loop.
//
// The texts in it are moved in, and escaped when they are written. Made once, written once. One owner, not thread-safe.
#ifndef PENSTOCK_BASE_JSON_PIECES_H_
#define PENSTOCK_BASE_JSON_PIECES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/json_string.h"

namespace penstock {

class JsonPieces {
 public:
  // Adds a part as it is.
  void AddJson(std::string json) { parts_.push_back({std::move(json), /*is_text=*/false}); }
  // Adds a JSON string of this text, which is UTF-8.
  void AddText(std::string text) {
    AddJson("\"");
    parts_.push_back({std::move(text), /*is_text=*/true});
    AddJson("\"");
  }

  // Appends about `bytes` bytes to `out`. False: they were the last.
  bool Write(size_t bytes, std::string* out) {
    const size_t end = out->size() + bytes;
    while (part_ < parts_.size() && out->size() < end) {
      Part& part = parts_[part_];
      const absl::string_view piece = absl::string_view(part.bytes).substr(at_, end - out->size());
      if (part.is_text) {
        AppendJsonEscaped(piece, out);
      } else {
        out->append(piece.data(), piece.size());
      }
      at_ += piece.size();
      if (at_ < part.bytes.size()) continue;
      std::string().swap(part.bytes);
      at_ = 0;
      ++part_;
    }
    return part_ < parts_.size();
  }

 private:
  struct Part {
    std::string bytes;
    bool is_text = false;
  };
  std::vector<Part> parts_;
  size_t part_ = 0;
  size_t at_ = 0;  // In that part.
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_JSON_PIECES_H_
