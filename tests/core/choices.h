// The choices of a random test: drawn from a seed, or read from a fuzzer's bytes.
#ifndef PENSTOCK_TESTS_CORE_CHOICES_H_
#define PENSTOCK_TESTS_CORE_CHOICES_H_

#include <cstddef>
#include <cstdint>

namespace penstock::testing {

class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed) {}
  Choices(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  // Uniform from a seed; from bytes, whatever they say, and zeros after their end.
  uint64_t Below(uint64_t bound);
  bool OneIn(uint64_t count) { return Below(count) == 0; }
  bool ended() const { return data_ != nullptr && left_ == 0; }

 private:
  uint64_t state_ = 0;
  const uint8_t* data_ = nullptr;
  size_t left_ = 0;
};

// A number from the environment: the seeds of a long run, or the seed of a replay.
uint64_t FromEnvironment(const char* name, uint64_t otherwise);

}  // namespace penstock::testing

#endif  // PENSTOCK_TESTS_CORE_CHOICES_H_
