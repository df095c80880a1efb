#include "config/values/builtin_classes.h"

namespace penstock {
namespace {

constexpr Duration kUnnamedQueue = Duration::Seconds(600);

}  // namespace

std::vector<ClassConfig> NamedBuiltinClasses() {
  return {{"interactive", Duration::Seconds(1), Duration::Milliseconds(50), Duration::Seconds(5), false, false, true},
          {"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(30), false, false, true},
          {"background", Duration::Seconds(3600), Duration::Seconds(1), Duration::Seconds(86'400), false, true, true}};
}

std::vector<ClassConfig> UnnamedBuiltinClasses() {
  std::vector<ClassConfig> classes = NamedBuiltinClasses();
  for (ClassConfig& each : classes) {
    each.queue = kUnnamedQueue;
    each.refuse_late = false;
  }
  return classes;
}

}  // namespace penstock
