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

ClassConfig JobsClass() {
  ClassConfig jobs{kJobsClass, Duration::Seconds(86'400), Duration::Seconds(10), Duration::Seconds(30 * 86'400.0)};
  jobs.evictable = true;
  jobs.share = 0;
  jobs.promote_after = jobs.queue;
  return jobs;
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
