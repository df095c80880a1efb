// The terms of the configuration for the lines of batches: how many run, for whom, and in which class. Pure.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_LINE_TERMS_H_
#define PENSTOCK_ROUTER_JOBS_RUN_LINE_TERMS_H_

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "config/config.h"
#include "router/jobs/run/line_run.h"

namespace penstock::jobs {

// Most lines in the core. Only Penstock's own core lets lines wait behind all else, and evicts them. Under any other
// policy they would fill the engines, so there are a few per replica.
int64_t MostLines(const Config& config);
// Jobs run in the class of their name. A reload may have dropped it: then in the last one.
std::string ClassOfJobs(const Config& config);
// Null: the configuration has no such tenant.
const TenantConfig* FindTenant(const Config& config, TenantId id);
// True: clients need the key of a tenant.
bool NeedsKey(const Config& config);
// The caller of a tenant's lines, which may be a tenant that has left.
Caller CallerOf(const Config& config, TenantId id);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_LINE_TERMS_H_
