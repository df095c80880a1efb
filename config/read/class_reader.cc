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

// A class of the file replaces the built-in class of its name; further classes come after the built-in ones.
void Insert(ClassConfig given, std::vector<ClassConfig>& classes) {
  const auto known =
      std::find_if(classes.begin(), classes.end(), [&](const ClassConfig& each) { return each.name == given.name; });
  if (known == classes.end()) {
    classes.push_back(std::move(given));
  } else {
    *known = std::move(given);
  }
}

void TakeDefault(const MapReader& map, std::vector<ClassConfig>& classes) {
  std::vector<std::string> marked;
  for (const ClassConfig& each : classes) {
    if (each.is_default) marked.push_back(each.name);
  }
  if (marked.size() > 1) map.Fail(marked[1], absl::StrCat("is a second default class beside ", marked[0]));
  if (marked.empty()) classes[kStandardClass].is_default = true;
}

}  // namespace

void SectionReader::Read(Name key, std::vector<ClassConfig>& classes, const ClassesForm&) {
  classes = UnnamedBuiltinClasses();
  const std::optional<MapReader> section = map_.ReadNames(key, kMostClasses);
  if (!section) {
    classes[kStandardClass].is_default = true;
    return;
  }
  for (const std::string& name : section->Keys()) {
    const bool bad =
        name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos;
    if (bad) section->Fail(name, "a class name has letters a-z, digits, _ and - only");
    if (IsLabelWord(name)) section->Fail(name, kIsLabelWord);
    const std::optional<MapReader> map = section->ReadMap(name, KeyNames<ClassConfig>());
    if (!map || bad) continue;
    ClassConfig given = StartOf(*map, name);
    ReadSection(draft_, *map, given);
    Insert(std::move(given), classes);
  }
  TakeDefault(*section, classes);
}

}  // namespace penstock
