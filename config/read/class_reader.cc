#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/read/section_reader.h"
#include "config/values/builtin_classes.h"
#include "config/values/label_words.h"

namespace penstock {
namespace {

ClassConfig StartOf(const MapReader& map, const std::string& name) {
  for (const ClassConfig& builtin : NamedBuiltinClasses()) {
    if (builtin.name == name) return builtin;
  }
  if (name == kJobsClass) return JobsClass();
  ClassConfig given = DefaultOf<ClassConfig>();
  given.name = name;
  for (const absl::string_view key : {"ttft", "tpot", "queue"}) map.Require(key, "is required for a new class");
  return given;
}

std::vector<ClassConfig>::iterator Find(absl::string_view name, std::vector<ClassConfig>& classes) {
  return std::find_if(classes.begin(), classes.end(), [&](const ClassConfig& each) { return each.name == name; });
}

// The rank of a class that is not built in: before those with a longer TTFT goal. Jobs come last.
bool StandsBefore(const ClassConfig& each, const ClassConfig& other) {
  if (each.name == kJobsClass) return false;
  return other.name == kJobsClass || each.ttft < other.ttft;
}

// A class of the file replaces the built-in class of its name.
void Merge(std::vector<ClassConfig> given, std::vector<ClassConfig>& classes) {
  const auto replaces = [&](ClassConfig& each) {
    const auto known = Find(each.name, classes);
    if (known == classes.end()) return false;
    *known = std::move(each);
    return true;
  };
  given.erase(std::remove_if(given.begin(), given.end(), replaces), given.end());
  for (ClassConfig& each : given) {
    const auto before = std::find_if(classes.begin(), classes.end(),
                                     [&](const ClassConfig& other) { return StandsBefore(each, other); });
    classes.insert(before, std::move(each));
  }
}

void TakeDefault(const MapReader& map, std::vector<ClassConfig>& classes) {
  std::vector<std::string> marked;
  for (const ClassConfig& each : classes) {
    if (each.is_default) marked.push_back(each.name);
  }
  if (marked.size() > 1) map.Fail(marked[1], absl::StrCat("is a second default class beside ", marked[0]));
  if (marked.empty()) Find("standard", classes)->is_default = true;
}

}  // namespace

void SectionReader::Read(Name key, std::vector<ClassConfig>& classes, const ClassesForm&) {
  classes = UnnamedBuiltinClasses();
  const std::optional<MapReader> section = map_.ReadNames(key, kMostClasses);
  if (!section) {
    Find("standard", classes)->is_default = true;
    return;
  }
  std::vector<ClassConfig> given;
  for (const std::string& name : section->Keys()) {
    const bool bad =
        name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos;
    if (bad) section->Fail(name, "a class name has letters a-z, digits, _ and - only");
    if (IsLabelWord(name)) section->Fail(name, kIsLabelWord);
    const std::optional<MapReader> map = section->ReadMap(name, KeyNames<ClassConfig>());
    if (!map || bad) continue;
    ReadSection(draft_, *map, given.emplace_back(StartOf(*map, name)));
  }
  Merge(std::move(given), classes);
  TakeDefault(*section, classes);
}

}  // namespace penstock
