#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/draft.h"

namespace penstock {
namespace {

constexpr Duration kBestEffortQueue = Duration::Seconds(600);
const TimeRange kGoalRange{Duration::Milliseconds(1), Duration::Seconds(30 * 86'400.0)};
const TimeRange kQueueRange{Duration(), Duration::Seconds(30 * 86'400.0)};

// Goals and queue of the built-in classes where a file names them and leaves a key out.
std::vector<ClassConfig> NamedBuiltins() {
  return {{"interactive", Duration::Seconds(1), Duration::Milliseconds(50), Duration::Seconds(5), false, false, true},
          {"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(30), false, false, true},
          {"background", Duration::Seconds(3600), Duration::Seconds(1), Duration::Seconds(86'400), false, true, true}};
}

ClassConfig ReadClass(const MapReader& reader, const std::string& name) {
  const std::vector<ClassConfig> builtins = NamedBuiltins();
  const auto builtin =
      std::find_if(builtins.begin(), builtins.end(), [&](const ClassConfig& known) { return known.name == name; });
  ClassConfig given;
  if (builtin != builtins.end()) {
    given = *builtin;
  } else {
    given.name = name;
    given.refuse_late = true;
    for (const absl::string_view key : {"ttft", "tpot", "queue"}) reader.Require(key, "is required for a new class");
  }
  reader.ReadTime("ttft", kGoalRange, &given.ttft);
  reader.ReadTime("tpot", kGoalRange, &given.tpot);
  reader.ReadTime("queue", kQueueRange, &given.queue);
  reader.ReadFlag("default", &given.is_default);
  reader.ReadFlag("evictable", &given.evictable);
  reader.ReadFlag("refuse_late", &given.refuse_late);
  return given;
}

void TakeDefault(const MapReader& reader, std::vector<ClassConfig>& classes) {
  std::vector<std::string> marked;
  for (const ClassConfig& each : classes) {
    if (each.is_default) marked.push_back(each.name);
  }
  if (marked.size() > 1) reader.Fail(marked[1], absl::StrCat("is a second default class beside ", marked[0]));
  if (marked.empty()) classes[1].is_default = true;
}

}  // namespace

std::vector<ClassConfig> BuiltinClasses() {
  std::vector<ClassConfig> classes = NamedBuiltins();
  for (ClassConfig& each : classes) {
    each.queue = kBestEffortQueue;
    each.refuse_late = false;
  }
  return classes;
}

void ReadClasses(Draft& draft) {
  std::vector<ClassConfig>& classes = draft.config.classes;
  classes = BuiltinClasses();
  const std::optional<MapReader> section = draft.root.ReadMap("classes", SectionId::kClasses);
  if (!section) {
    classes[1].is_default = true;
    return;
  }
  for (const std::string& name : section->Keys()) {
    const bool bad =
        name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos;
    if (bad) section->Fail(name, "a class name has letters a-z, digits, _ and - only");
    const std::optional<MapReader> reader = section->ReadMap(name, SectionId::kClass);
    if (!reader || bad) continue;
    const ClassConfig given = ReadClass(*reader, name);
    const auto known =
        std::find_if(classes.begin(), classes.end(), [&](const ClassConfig& each) { return each.name == name; });
    if (known != classes.end())
      *known = given;
    else
      classes.push_back(given);
  }
  TakeDefault(*section, classes);
}

}  // namespace penstock
