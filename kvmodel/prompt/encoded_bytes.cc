#include "kvmodel/prompt/encoded_bytes.h"

namespace penstock {
namespace {

int DigitOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

}  // namespace

int EncodedBytes::At(size_t position) const {
  if (position >= size()) return -1;
  const size_t first = position / 3 * 4 + position % 3;  // Its bits lie in this digit and the next one.
  const int high = DigitOf(base64_[first]);
  const int low = DigitOf(base64_[first + 1]);
  if (high < 0 || low < 0) return -1;
  const int shift = 2 * static_cast<int>(position % 3 + 1);
  return ((high << shift) | (low >> (6 - shift))) & 0xFF;
}

int64_t EncodedBytes::BigEndian(size_t position, int bytes) const {
  int64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    const int byte = At(position + static_cast<size_t>(i));
    if (byte < 0) return -1;
    value = value << 8 | byte;
  }
  return value;
}

int64_t EncodedBytes::LittleEndian(size_t position, int bytes) const {
  int64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    const int byte = At(position + static_cast<size_t>(i));
    if (byte < 0) return -1;
    value |= static_cast<int64_t>(byte) << (8 * i);
  }
  return value;
}

bool EncodedBytes::Has(size_t position, absl::string_view ascii) const {
  for (size_t i = 0; i < ascii.size(); ++i) {
    if (At(position + i) != static_cast<unsigned char>(ascii[i])) return false;
  }
  return true;
}

}  // namespace penstock
