// The pages of vLLM's sleep: /sleep, /wake_up and /is_sleeping, and one by which a test chooses how they are played.
//
//   POST /simulated/sleep?play=well|fail|never|lie
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_SLEEP_PAGES_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_SLEEP_PAGES_H_

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "backends/simulated/face/pages.h"

namespace penstock::simulated {

// Any page of the engine. A wake takes its time, the other pages take none. The texts of `request` must live until
// then.
boost::asio::awaitable<Page> AnswerAnyPage(PageRequest request, std::shared_ptr<Engine> engine);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_SLEEP_PAGES_H_
