#include "backends/socket/loop_turns.h"

namespace penstock {

boost::asio::execution_context::id LoopTurns::id;

}  // namespace penstock
