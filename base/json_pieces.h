// One JSON text that is written piece by piece, so a long one does not hold its loop.
//
// Its parts are moved in. Made once, written once. One owner, not thread-safe.
#ifndef PENSTOCK_BASE_JSON_PIECES_H_
#define PENSTOCK_BASE_JSON_PIECES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

class JsonPieces {
 public:
  void Add(std::string part) { parts_.push_back(std::move(part)); }

  // Appends about `bytes` bytes to `out`. False: they were the last.
  bool Write(size_t bytes, std::string* out) {
    const size_t end = out->size() + bytes;
    while (part_ < parts_.size() && out->size() < end) {
      std::string& part = parts_[part_];
      const absl::string_view piece = absl::string_view(part).substr(at_, end - out->size());
      out->append(piece.data(), piece.size());
      at_ += piece.size();
      if (at_ < part.size()) continue;
      std::string().swap(part);
      at_ = 0;
      ++part_;
    }
    return part_ < parts_.size();
  }

 private:
  std::vector<std::string> parts_;
  size_t part_ = 0;
  size_t at_ = 0;  // In that part.
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_JSON_PIECES_H_
