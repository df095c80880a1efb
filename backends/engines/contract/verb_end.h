// The two orders to an engine about its memory, and their ends.
#ifndef PENSTOCK_BACKENDS_ENGINES_CONTRACT_VERB_END_H_
#define PENSTOCK_BACKENDS_ENGINES_CONTRACT_VERB_END_H_

#include <cstdint>
#include <string>

namespace penstock {

enum class Verb : uint8_t { kSleep, kWake };

enum class VerbFault : uint8_t {
  kNone,
  kRefused,    // Status 4xx or 501: the engine has no such verb, or not now.
  kServer,     // Another status, an answer that is not HTTP, or a model that could not be loaded.
  kConnect,    // Not reachable, or lost in the middle.
  kTimeout,    // No end in time.
  kUnchanged,  // The verb was answered well, and the engine shows that nothing happened.
  kBusy,       // The engine runs requests of somebody else.
  kCommand,    // A command of the operator failed.
  kUnable,     // The engine has no verbs, or is not known yet.
  kStopped,    // The router gave it up.
};

struct VerbEnd {
  VerbFault fault = VerbFault::kNone;
  std::string message;     // For the log, where there is a fault.
  bool page_lies = false;  // It is awake and answers, but its page says that it sleeps.
  bool holds = false;      // A wake that failed, and the engine may hold memory: it could not be put back to sleep.
  bool ok() const { return fault == VerbFault::kNone; }
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_CONTRACT_VERB_END_H_
