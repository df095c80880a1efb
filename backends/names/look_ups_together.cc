#include "backends/names/look_ups_together.h"

#include <condition_variable>
#include <memory>
#include <mutex>

#include "backends/names/literal.h"
#include "base/clock.h"

namespace penstock {
namespace {

// The answers that came so far. A look-up that comes too late still has them.
struct Answers {
  explicit Answers(size_t count) : list(count), open(count) {}

  void Set(size_t index, const NameAnswer& answer) {
    const std::lock_guard lock(mutex);
    list[index] = answer;
    if (--open == 0) complete.notify_one();
  }

  std::mutex mutex;
  std::condition_variable complete;
  std::vector<std::optional<NameAnswer>> list;  // Guarded, as the next one.
  size_t open;
};

}  // namespace

std::vector<std::optional<NameAnswer>> LookUpTogether(const std::vector<std::string>& names, Duration most,
                                                      NameLookUps& look_ups) {
  const auto end = ToTimePoint(Now() + most);
  const auto answers = std::make_shared<Answers>(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (const auto literal = AddressOfLiteral(names[i])) {
      answers->Set(i, NameAnswer{{}, {*literal}});
    } else {
      look_ups.LookUp(names[i], [answers, i](const NameAnswer& answer) { answers->Set(i, answer); });
    }
  }
  std::unique_lock lock(answers->mutex);
  answers->complete.wait_until(lock, end, [&answers] { return answers->open == 0; });
  return answers->list;
}

}  // namespace penstock
