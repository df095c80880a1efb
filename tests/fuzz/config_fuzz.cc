// Any bytes as a configuration: findings with a place, or a configuration that prints to one that is accepted again.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "config/config.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  // The operator's files are not the fuzzer's.
  for (const char* named : {"file:", ".json", "tls"}) {
    if (absl::StrContains(yaml, named)) return 0;
  }
  const auto config = penstock::ParseConfig(yaml, "f.yml");
  if (!config.ok()) {
    Expect(absl::StartsWith(config.status().message(), "f.yml:"), "a finding says where");
    return 0;
  }
  penstock::Warnings(*config);
  const std::string printed = penstock::PrintConfig(*config);
  const auto again = penstock::ParseConfig(printed, "printed.yml");
  Expect(again.ok(), "a printed configuration is accepted");
  Expect(penstock::PrintConfig(*again) == printed, "and prints to itself");
  Expect(penstock::KeysThatNeedRestart(*config, *again).empty(), "and means the same");
  return 0;
}
