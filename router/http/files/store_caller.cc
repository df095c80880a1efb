#include "router/http/files/store_caller.h"

#include "absl/hash/hash.h"

namespace penstock {
namespace {

constexpr int kMostReads = 512;
// The share of one place, as no small holding.
constexpr Bytes kPlace{1 << 20};

}  // namespace

StoreCaller::StoreCaller(EventLoop& loop, TenantId tenant, uint64_t address)
    : loop_(loop),
      tenant_(tenant),
      account_(tenant == TenantId() ? address : absl::HashOf(tenant)),
      memory_(loop.edge(), loop.fleet()->config().limits.max_answer_memory, account_),
      place_(&loop.edge().store_reads, account_) {}

std::optional<ApiError> StoreCaller::TakePlace() {
  if (place_.GrowTo(kPlace, kPlace * kMostReads)) return std::nullopt;
  loop_.edge().telemetry->OnTurnedAway(TurnedAway::kStoreReads);
  return MakeError(ErrorName::kTooManyStoreReads,
                   "The router answers as many downloads and lists of files and batches as it may. Retry later.");
}

void CountStoreFault(EventLoop& loop, const ApiError& error) {
  Telemetry& telemetry = *loop.edge().telemetry;
  if (error.bad_input) telemetry.OnBadInput(*error.bad_input);
  if (error.reason == LabelOf(TurnedAway::kBodyMemory)) telemetry.OnTurnedAway(TurnedAway::kBodyMemory);
}

}  // namespace penstock
