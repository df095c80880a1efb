// A promise that a fuzzed function must keep. A broken promise goes to stderr, then the process ends.
#ifndef PENSTOCK_TESTS_FUZZ_EXPECT_H_
#define PENSTOCK_TESTS_FUZZ_EXPECT_H_

#include <cstdio>
#include <cstdlib>

inline void Expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

#endif  // PENSTOCK_TESTS_FUZZ_EXPECT_H_
