#include "router/tracing/trace_ids.h"

#include <random>

namespace penstock {
namespace {

uint64_t NotZero() {
  static thread_local std::mt19937_64 generator{[] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  }()};
  uint64_t value = 0;
  while (value == 0) value = generator();
  return value;
}

}  // namespace

TraceId NewTraceId() { return {NotZero(), NotZero()}; }
SpanId NewSpanId() { return {NotZero()}; }

}  // namespace penstock
