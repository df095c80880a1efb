// The randomness of simulated engines: pure functions of 64-bit values, equal on every machine.
#ifndef PENSTOCK_BACKENDS_SIMULATED_MIX_H_
#define PENSTOCK_BACKENDS_SIMULATED_MIX_H_

#include <cstdint>
#include <string_view>

namespace penstock::simulated {

// The finaliser of splitmix64: each input bit changes about half of the output bits.
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
constexpr uint64_t Mix(uint64_t a, uint64_t b) { return Mix(Mix(a) ^ b); }

// Hash of a byte string that grows at its end (FNV-1a, mixed when read).
class ByteHash {
 public:
  constexpr void Add(char byte) { state_ = (state_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3; }
  constexpr void Add(std::string_view bytes) {
    for (const char byte : bytes) Add(byte);
  }
  constexpr uint64_t Value() const { return Mix(state_); }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

// Uniform in [0, 1), from the upper 53 bits.
constexpr double Uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MIX_H_
