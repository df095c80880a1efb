#include "router/core/sessions/session_book.h"

#include <utility>
#include <vector>

#include "router/core/contract/vacancy.h"

namespace penstock {

SessionHint SessionBook::Find(uint64_t session) const {
  const auto found = sessions_.find(session);
  if (session == 0 || found == sessions_.end()) return {};
  const Session& known = found->second;
  return {known.replica, known.context, known.proven ? known.reliability.share() : kUnproven};
}

void SessionBook::Sent(uint64_t session, TenantId tenant, ReplicaId replica, Tokens prompt) {
  if (session == 0) return;
  const bool again = sessions_.contains(session);
  if (again) fresh_.Remove(session);
  const std::optional<uint64_t> evicted = (again ? known_ : fresh_).Put(session, tenant);
  if (evicted) sessions_.erase(*evicted);
  const auto [at, added] = sessions_.try_emplace(session);
  Session& known = at->second;
  known.context = added || known.replica != replica ? prompt : std::max(known.context, prompt);
  known.replica = replica;
}

void SessionBook::Ended(uint64_t session, ReplicaId replica, Tokens context) {
  const auto found = sessions_.find(session);
  if (session == 0 || found == sessions_.end() || found->second.replica != replica) return;
  found->second.context = context;
}

void SessionBook::Learn(uint64_t session, Tokens expected, Tokens found) {
  const auto known = sessions_.find(session);
  if (session == 0 || known == sessions_.end() || expected <= Tokens(0)) return;
  known->second.proven = true;
  known->second.reliability.Observe(expected, found);
}

void SessionBook::Configure(const Fleet& fleet) {
  std::vector<uint64_t> gone;
  for (const auto& [key, session] : sessions_) {
    const size_t place = session.replica.value();
    if (place >= fleet.replicas.size() || IsVacant(fleet.replicas[place])) gone.push_back(key);
  }
  for (const uint64_t key : gone) {
    fresh_.Remove(key);
    known_.Remove(key);
    sessions_.erase(key);
  }
}

}  // namespace penstock
