// The pieces of one read that go to the client, in order: views of the engine's bytes, or events made here.
//
// The event with the finish reason can be held until the next event. The engine may say its fingerprint in an event
// that the client does not get. Views are valid until the next Clear(). Pure; no allocation for a piece that passes as
// it is.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_CLIENT_PIECES_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_CLIENT_PIECES_H_

#include <list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

class ClientPieces {
 public:
  // Forgets the pieces of the last read, not the held event.
  void Clear();
  // Neighbours in memory become one piece.
  void Pass(absl::string_view raw);
  // An event made here.
  void PassMade(std::string event);
  // Keeps a copy for Release().
  void Hold(absl::string_view event) { held_ = std::string(event); }
  // Passes the held event, if there is one, with `fingerprint` (a raw JSON value) unless that is empty.
  void Release(absl::string_view fingerprint);

  const std::vector<absl::string_view>& views() const { return views_; }

 private:
  std::vector<absl::string_view> views_;
  std::list<std::string> made_;
  std::string held_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_CLIENT_PIECES_H_
