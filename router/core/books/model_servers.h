// The replicas that serve one model, and the fastest of each kind of them.
//
// Lateness and expected work ask for the fastest replica of a model with every request. Replicas of equal step times
// and batches differ only by their learned factor. A kind with its least factor so answers for all of them, in
// O(kinds) instead of O(replicas). Invariant: every replica of the model belongs to one kind. Owned by Servers.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_MODEL_SERVERS_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_MODEL_SERVERS_H_

#include <algorithm>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kvmodel/prefill_work.h"
#include "router/core/contract/fleet.h"

namespace penstock {

// The few figures of a replica that a search over many replicas reads, as of the replica's last change. A fleet's fit
// into a few cache lines.
struct ReplicaBrief {
  double fullness = 0;     // Part of the fullest pool in use at present; beyond 1 when it takes no request.
  double idle_factor = 1;  // Learned over prior step time beside idle neighbours.
  double busy_factor = 1;  // And beside those that are busy now.
  bool up = false;         // Health::kUp or kProbing, or it can be woken.
  double host_time = 0;    // Seconds of a first token that no step explains.
  bool takes = true;       // It is awake, and stays so.
  double wake = 0;         // Seconds that it needs to wake, where it does not wake already.
  Instant awake_at;        // While it wakes: when that is expected to end.

  // True: the replica takes nothing because of its sleep, and requests may wait for it.
  bool IsAway() const { return up && !takes; }
  // Seconds before the steps of a first token.
  double Delay(Instant now) const { return host_time + wake + std::max(0.0, (awake_at - now).seconds()); }
};

class ModelServers {
 public:
  // Learned factors are read again this often: two samples of 25 ms, far below the second in which a factor follows a
  // slow replica. Rejected: with every request, 260 us at 256 replicas (ARCHITECTURE.md, one event costs the same).
  static constexpr Duration kRefresh = Duration::Milliseconds(50);

  struct Kind {
    StepCoefficients step;
    int max_sequences = 0;
    Tokens batch_budget{0};
    double idle_factor = 0;  // Least of its replicas; 0: none of them is up.
    double busy_factor = 0;
    double delay = 0;  // Seconds before the steps of a first token; least of its replicas.

    // Seconds to a first token on an idle replica of the kind.
    double FirstToken(const PrefillWork& prefill, double factor) const;
    // GPU seconds of a request in a full batch; `output` is that of each of its sequences.
    double Work(Tokens prompt, const PrefillWork& prefill, double output, int sequences) const;
  };

  void Add(size_t replica, const ReplicaSpec& spec);
  // In rising order.
  const std::vector<size_t>& replicas() const { return replicas_; }

  // Reads the factors of the replicas that are up; of all while none is.
  void Refresh(const std::vector<ReplicaBrief>& briefs, Instant now);
  // A replica changed its health.
  void Changed() { refresh_at_ = Instant(); }
  // Kinds with a factor above 0 count.
  const absl::InlinedVector<Kind, 2>& kinds() const { return kinds_; }

 private:
  std::vector<size_t> replicas_;
  std::vector<size_t> kind_of_;  // One entry per entry of replicas_.
  absl::InlinedVector<Kind, 2> kinds_;
  Instant refresh_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_MODEL_SERVERS_H_
