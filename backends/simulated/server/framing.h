// The bytes around a streamed answer of a simulated engine. Pure.
#ifndef PENSTOCK_BACKENDS_SIMULATED_SERVER_FRAMING_H_
#define PENSTOCK_BACKENDS_SIMULATED_SERVER_FRAMING_H_

#include <string>

namespace penstock::simulated {

// One step's events as one HTTP chunk; as they are without chunks.
void Frame(std::string payload, bool chunked, std::string& bytes);
// The head of a streamed answer. Without chunks, the end of the connection is its end.
std::string StreamHead(bool llama, bool chunked, bool keep_alive);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SERVER_FRAMING_H_
