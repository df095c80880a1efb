// The recordings of real engines under tests/data, and small HTTP pieces to take them apart without Penstock's parser.
#ifndef PENSTOCK_TESTS_BACKENDS_RECORDING_H_
#define PENSTOCK_TESTS_BACKENDS_RECORDING_H_

#include <string>
#include <vector>

#include "backends/dialect/endpoint.h"
#include "backends/dialect/stream_reader.h"

namespace penstock {

// All bytes of the response of tests/data/llama-server/NAME.txt. Fails the test when it cannot be read.
std::string RecordedResponse(const std::string& name);
// Its body, chunks joined.
std::string RecordedBody(const std::string& name);

struct OwnedEvent {
  std::string raw, data, name;
  bool comment = false, garbled = false;
};
// Splits `text`, fed in pieces of `piece` bytes.
std::vector<OwnedEvent> Split(const std::string& text, size_t piece = std::string::npos);
StreamFacts Read(Endpoint endpoint, const OwnedEvent& event);
// As one event with this data.
StreamFacts ReadData(Endpoint endpoint, const std::string& data);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_BACKENDS_RECORDING_H_
