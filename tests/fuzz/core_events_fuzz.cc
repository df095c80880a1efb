// Any bytes as choices of what happens around the decision core: every promise holds after every event.
#include <cstdint>
#include <cstdio>

#include "tests/core/fault_world.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kMostSteps = 400;
  penstock::testing::Choices choices(data, size);
  penstock::testing::FaultWorld world(choices);
  for (int i = 0; i < kMostSteps && !choices.ended() && world.core().broken().empty(); ++i) world.Step();
  if (world.core().broken().empty()) world.core().CheckLog();
  if (world.core().broken().empty()) world.Calm();
  if (!world.core().broken().empty()) std::fputs(world.core().History().c_str(), stderr);
  Expect(world.core().broken().empty(), world.core().broken().c_str());
  return 0;
}
