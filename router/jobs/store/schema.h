// The tables of the job store, and the way from each version of them to the next.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_SCHEMA_H_
#define PENSTOCK_ROUTER_JOBS_STORE_SCHEMA_H_

#include "router/jobs/store/database.h"
#include "router/jobs/store/job_error.h"

namespace penstock::jobs {

// True: no version of the tables was ever made.
JobResult<bool> IsFresh(Database& database);

// Each version is a list of statements; a database gets those that it lacks, one version per transaction. A version
// that was released never changes. kDamaged: the database is of a newer program, or another program's.
JobDone BringUpToDate(Database& database);

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_SCHEMA_H_
