// The replica that served each session last, by the hints of clients (RequestArrived::session).
//
// A hint is a weak prefix: it names a conversation, and says nothing of its text. So it counts only for the part of a
// prompt that has no block hashes. It is trusted as far as earlier answers of the session found its context cached.
// Sessions that came back stand apart from those that came once. A flood of fresh keys so evicts no session that came
// back, and an owner of many keys loses its own first. Invariant: at most `most` sessions. Owned by Servers. O(log
// tenants).
#ifndef PENSTOCK_ROUTER_CORE_SESSIONS_SESSION_BOOK_H_
#define PENSTOCK_ROUTER_CORE_SESSIONS_SESSION_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/units.h"
#include "router/core/contract/fleet.h"
#include "router/core/learning/hit_reliability.h"
#include "router/core/sessions/fair_lru.h"

namespace penstock {

// The place of a session's context.
struct SessionHint {
  std::optional<ReplicaId> replica;  // None: the request has no hint, or its session is new.
  Tokens context{0};                 // The last request with its answer had so many.
  double trust = 0;                  // Part of it that is expected to be cached.
};

class SessionBook {
 public:
  static constexpr size_t kMost = 65'536;
  // Trust in a session before the first answer that tells its cached tokens.
  static constexpr double kUnproven = 0.5;

  explicit SessionBook(size_t most = kMost) : fresh_(most / 4), known_(most - most / 4) {}

  SessionHint Find(uint64_t session) const;
  // A request of the session goes to the replica with so many tokens of prompt.
  void Sent(uint64_t session, TenantId tenant, ReplicaId replica, Tokens prompt);
  // The request of the session ended there with so many tokens of prompt and output.
  void Ended(uint64_t session, ReplicaId replica, Tokens context);
  // So many tokens of a prompt were expected by the hint alone, and so many were found.
  void Learn(uint64_t session, Tokens expected, Tokens found);
  // Forgets the sessions of places that are vacant. O(sessions).
  void Configure(const Fleet& fleet);

  size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    ReplicaId replica;
    Tokens context{0};
    bool proven = false;
    HitReliability reliability;
  };

  FairLru fresh_;  // Came once.
  FairLru known_;
  absl::flat_hash_map<uint64_t, Session> sessions_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_SESSIONS_SESSION_BOOK_H_
