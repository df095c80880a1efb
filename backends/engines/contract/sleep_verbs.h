// The way in which an engine gives its memory back and takes it again.
//
// Most engines have a request for each verb, and a page that tells which of them was last.
//
// An engine declares one SleepVerbs as a part of its table. The functions are pure. EngineVerbs
// (backends/engines/verbs) sends the requests of any engine. Constants: any thread may read them.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_SLEEP_VERBS_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_SLEEP_VERBS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "backends/engines/contract/discovery.h"

namespace penstock {

struct SleepTarget {
  std::string model;    // The engine's own name of it.
  int level = 1;        // Of the sleep, or of the one it wakes from.
  std::string weights;  // The engine reads its weights from here again after it woke. Empty: it still has them.
};

// A POST with a body in JSON.
struct VerbRequest {
  std::string path;
  std::string body;  // Empty: none.
  // An engine that runs requests refuses this request with status 400; the verb ends there.
  bool asks_idle = false;
  bool operator==(const VerbRequest&) const = default;
};

// The memory of an engine, as its page tells it.
enum class EngineRest : uint8_t {
  kUnknown,  // The page does not say.
  kAwake,
  kAsleep,
  kBetween,  // It loads.
  kFailed,   // It could not load.
};

struct SleepVerbs {
  // The requests in order. Each has succeeded when its status is 200 to 299. Null: the engine has no such verb.
  std::vector<VerbRequest> (*sleep)(const SleepTarget& target) = nullptr;
  std::vector<VerbRequest> (*wake)(const SleepTarget& target) = nullptr;
  const char* page = nullptr;  // Null: no page tells; the verb that succeeded last counts.
  EngineRest (*read)(absl::string_view body, const SleepTarget& target) = nullptr;
  bool per_model = false;   // The server has several models, and the verbs are about one of them.
  bool on_host = false;     // Its sleep copies the weights to the memory of the host, unless the target has `weights`.
  bool levels = false;      // It has the levels of SleepTarget: 2 drops the weights.
  bool ends_later = false;  // A verb is answered before its end, and the page tells the end.
  // False: this engine was started without the verbs. Null: it always has them.
  bool (*has)(const Discovery& found) = nullptr;
  const char* advice = "";  // For an operator whose engine refuses a verb: the way to start it.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_SLEEP_VERBS_H_
