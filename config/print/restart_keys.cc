#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/keys/key_names.h"
#include "config/print/print_config.h"
#include "config/print/value_text.h"

namespace penstock {
namespace {

// Collects path and text of every key that needs a restart.
class RestartValues {
 public:
  explicit RestartValues(std::string prefix = "") : prefix_(std::move(prefix)) {}

  template <class Value, class Form>
  void operator()(const Key& key, const Value& value, const Form& form) {
    if constexpr (PlainValue<Value, Form>) {
      if (key.Is(kNeedsRestart)) values_.emplace_back(absl::StrCat(prefix_, key.name), ValueText(value, form));
    }
  }
  template <class Section>
  requires requires(const Section& section, RestartValues& values) { VisitFields(section, values); }
  void operator()(const Key& key, const Section& section, const SectionForm&) {
    RestartValues nested(absl::StrCat(prefix_, key.name, "."));
    VisitFields(section, nested);
    values_.insert(values_.end(), nested.values_.begin(), nested.values_.end());
  }

  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

 private:
  std::string prefix_;
  std::vector<std::pair<std::string, std::string>> values_;
};

// Replicas that run inside the process: their engines are made at start.
std::vector<std::string> Inside(const Config& config) {
  std::vector<std::string> ids;
  for (const ReplicaConfig& replica : config.replicas) {
    if (replica.simulated && replica.url.empty()) ids.push_back(replica.id);
  }
  return ids;
}

// Classes that the running router has, or would enter, at another rank than the fresh configuration gives them.
std::vector<std::string> ClassesOutOfRank(const Config& running, const Config& fresh) {
  const auto rank = [&](const ClassConfig& each) {
    return std::find_if(running.classes.begin(), running.classes.end(),
                        [&](const ClassConfig& known) { return known.name == each.name; });
  };
  std::vector<std::string> names;
  auto next = running.classes.begin();
  for (auto each = fresh.classes.begin(); each != fresh.classes.end(); ++each) {
    const auto known = rank(*each);
    // A new class is entered behind those that are there.
    const bool is_new = known == running.classes.end();
    const bool late = is_new && std::any_of(each, fresh.classes.end(), [&](const ClassConfig& behind) {
                        return rank(behind) != running.classes.end();
                      });
    if (late || (!is_new && known < next)) names.push_back(each->name);
    if (!is_new) next = std::max(next, known + 1);
  }
  return names;
}

}  // namespace

std::vector<std::string> KeysThatNeedRestart(const Config& running, const Config& fresh) {
  RestartValues before;
  RestartValues after;
  VisitFields(running, before);
  VisitFields(fresh, after);
  std::vector<std::string> keys;
  for (size_t i = 0; i < before.values().size(); ++i) {
    if (before.values()[i] != after.values()[i]) keys.push_back(before.values()[i].first);
  }
  for (const std::string& name : ClassesOutOfRank(running, fresh)) {
    const bool is_new = std::none_of(running.classes.begin(), running.classes.end(),
                                     [&](const ClassConfig& known) { return known.name == name; });
    // A new class ranks behind all others until then, also behind the class of jobs.
    keys.push_back(absl::StrCat("the rank of the ", is_new ? "new " : "", "class ", name, is_new ? " (last)" : ""));
  }
  if (Inside(running) != Inside(fresh)) keys.emplace_back("replicas that are simulated inside");
  return keys;
}

}  // namespace penstock
