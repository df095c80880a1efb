// Bytes in base64, read one by one without a copy. Pure.
#ifndef PENSTOCK_KVMODEL_ENCODED_BYTES_H_
#define PENSTOCK_KVMODEL_ENCODED_BYTES_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// A view of base64 text, in the plain alphabet or that of URLs. O(1) per byte.
class EncodedBytes {
 public:
  explicit EncodedBytes(absl::string_view base64) : base64_(base64) {}

  // The bytes that the whole text stands for. Padding is not looked at.
  size_t size() const { return base64_.size() / 4 * 3 + base64_.size() % 4 * 3 / 4; }
  // The byte at a position; -1: it is not there, or its digits are none.
  int At(size_t position) const;
  // An unsigned number of some bytes, at most four; -1: a byte of it is not there.
  int64_t BigEndian(size_t position, int bytes) const;
  int64_t LittleEndian(size_t position, int bytes) const;
  // True: the ASCII bytes stand at the position.
  bool Has(size_t position, absl::string_view ascii) const;

 private:
  absl::string_view base64_;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_ENCODED_BYTES_H_
