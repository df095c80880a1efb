// A simulated engine over HTTP in vLLM's dialect, and the requests of its tests.
#ifndef PENSTOCK_TESTS_SIMULATED_VLLM_FACE_H_
#define PENSTOCK_TESTS_SIMULATED_VLLM_FACE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tests/simulated/fleet_fixture.h"

namespace penstock::simulated {

inline constexpr char kChat[] = "/v1/chat/completions";
inline constexpr char kCompletions[] = "/v1/completions";

// One simulated engine in vLLM's dialect.
class VllmFace : public FleetTest {
 protected:
  void SetUp() override { Run(OneReplica()); }
};

// A chat of one message.
inline nlohmann::json Chat(const std::string& text) {
  return {{"model", "llama-3.1-8b"}, {"messages", nlohmann::json::array({{{"role", "user"}, {"content", text}}})}};
}

}  // namespace penstock::simulated

#endif  // PENSTOCK_TESTS_SIMULATED_VLLM_FACE_H_
