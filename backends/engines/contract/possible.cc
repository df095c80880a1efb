#include "backends/engines/contract/possible.h"

namespace penstock {
namespace {

void KeepUpTo(int64_t most, Tokens& reported) {
  if (reported < Tokens(0) || reported > Tokens(most)) reported = Tokens(0);
}

}  // namespace

void DropImpossible(Discovery& found) {
  KeepUpTo(kMostPoolTokens, found.kv_tokens);
  KeepUpTo(kMostBlockTokens, found.block);
  KeepUpTo(kMostPoolTokens, found.batch_budget);
  KeepUpTo(kMostPoolTokens, found.sequence_limit);
  for (ServedModel& model : found.models) KeepUpTo(kMostPoolTokens, model.max_context);
  if (found.max_sequences < 0 || found.max_sequences > kMostRequests) found.max_sequences = 0;
}

}  // namespace penstock
