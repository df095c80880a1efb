// Fetches the pages of one engine: its limits at the start and at times, its load with each poll.
//
// The declaration of the engine says which pages and how to read them; the scraper is the same for all engines. It
// remembers the last discovery and the pages that the engine refuses. Owned by the fleet monitor, one per replica; used
// on the control loop only, one operation at a time. A poll costs one request for each page that is due.
#ifndef PENSTOCK_BACKENDS_ENGINES_SCRAPE_ENGINE_SCRAPER_H_
#define PENSTOCK_BACKENDS_ENGINES_SCRAPE_ENGINE_SCRAPER_H_

#include <boost/asio/awaitable.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/engines/contract/engine_declaration.h"
#include "backends/transport/upstream.h"

namespace penstock {

class EngineScraper {
 public:
  // `engine` is one of the catalogue.
  explicit EngineScraper(const EngineDeclaration& engine) : engine_(engine), pauses_(engine.poll_pages.size(), 0) {}

  // Goes on behind a discovery by another scraper.
  EngineScraper(const EngineDeclaration& engine, Discovery found) : EngineScraper(engine) { found_ = std::move(found); }

  const EngineDeclaration& engine() const { return engine_; }

  // Reads the discovery pages in order. Run it at the start, after each return to health, and by a scraper of
  // its own while another one polls. Unavailable while the engine loads or is down, Unauthenticated when `key` is
  // wrong, InvalidArgument when a required page is unreadable.
  boost::asio::awaitable<absl::StatusOr<Discovery>> Discover(UpstreamPool& pool, absl::string_view key);

  // Reads the poll pages that are due. Errors as above. Call it at most every 250 ms. An optional page that fails
  // costs only its figures while the engine lives. Where another page shows that, it is left alone for kPause polls.
  boost::asio::awaitable<absl::StatusOr<Observation>> Poll(UpstreamPool& pool, absl::string_view key);

 private:
  static constexpr int kPause = 8;
  static constexpr int kForGood = -1;

  // An optional page failed so. OK: the engine lives.
  boost::asio::awaitable<absl::Status> AskIfAlive(UpstreamPool& pool, absl::string_view key, absl::Status failure);

  const EngineDeclaration& engine_;
  Discovery found_;
  std::vector<int> pauses_;  // Polls for which each poll page is left alone. kForGood: until the next discovery.
  bool doubtful_ = false;    // The last poll had a failed page or pauses.
  std::string fault_;        // Of the newest failed page, while it is left alone.
};

// Recognises the engine by the owner of its models, then by the signs of the catalogue. A server without a sign is the
// generic one. Unavailable when the server does not answer or still loads.
boost::asio::awaitable<absl::StatusOr<const EngineDeclaration*>> DetectEngine(UpstreamPool& pool,
                                                                              absl::string_view key);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_ENGINES_SCRAPE_ENGINE_SCRAPER_H_
