#include "router/jobs/store/schema.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::jobs {
namespace {

// "PnSt": tells a job store from other databases.
constexpr int64_t kApplication = 0x506e5374;

constexpr std::array<const char*, 3> kVersions = {
    // `sequence` gives lists their order. `place` is NewLine::order. `began_N` is the time of BatchStatus N.
    R"sql(
CREATE TABLE files(
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  filename TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER);
CREATE INDEX files_of_tenant ON files(tenant, sequence, bytes);
CREATE INDEX files_by_expiry ON files(expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE batches(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant INTEGER NOT NULL,
  tenant_name TEXT NOT NULL,
  input_file_id TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  completion_window TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  output_expires_after INTEGER,
  status INTEGER NOT NULL,
  errors TEXT NOT NULL DEFAULT '',
  total INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  read_bytes INTEGER NOT NULL DEFAULT 0,
  read_lines INTEGER NOT NULL DEFAULT 0,
  output_id TEXT NOT NULL,
  output_bytes INTEGER NOT NULL DEFAULT 0,
  output_shown INTEGER NOT NULL DEFAULT 0,
  error_id TEXT NOT NULL,
  error_bytes INTEGER NOT NULL DEFAULT 0,
  error_shown INTEGER NOT NULL DEFAULT 0,
  has_lines INTEGER NOT NULL DEFAULT 0,
  ended_at INTEGER,
  began_0 INTEGER, began_1 INTEGER, began_2 INTEGER, began_3 INTEGER,
  began_4 INTEGER, began_5 INTEGER, began_6 INTEGER, began_7 INTEGER);
CREATE INDEX batches_of_tenant ON batches(tenant, key);
CREATE INDEX open_batches ON batches(key) WHERE ended_at IS NULL;
CREATE TABLE lines(
  batch INTEGER NOT NULL,
  number INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  place INTEGER NOT NULL,
  custom_id BLOB,
  state INTEGER NOT NULL,
  answer_offset INTEGER,
  answer_length INTEGER,
  PRIMARY KEY(batch, number)) WITHOUT ROWID;
CREATE UNIQUE INDEX lines_by_custom_id ON lines(batch, custom_id) WHERE custom_id IS NOT NULL;
CREATE INDEX pending_lines ON lines(batch, place, number) WHERE state = 0;
)sql",
    // `model` is empty until a line names one, and NULL once lines name several. All are NULL in older batches.
    R"sql(
ALTER TABLE batches ADD COLUMN model TEXT;
ALTER TABLE batches ADD COLUMN input_tokens INTEGER;
ALTER TABLE batches ADD COLUMN cached_tokens INTEGER;
ALTER TABLE batches ADD COLUMN output_tokens INTEGER;
ALTER TABLE batches ADD COLUMN reasoning_tokens INTEGER;
)sql",
    // The room of a tenant, the lines to clear and the batches to forget are found without a look at all ended batches.
    R"sql(
CREATE INDEX open_of_tenant ON batches(tenant, output_bytes, error_bytes, total) WHERE ended_at IS NULL;
CREATE INDEX ended_of_tenant ON batches(tenant, key) WHERE ended_at IS NOT NULL;
CREATE INDEX ended_with_lines ON batches(key) WHERE ended_at IS NOT NULL AND has_lines = 1;
CREATE INDEX batches_by_end ON batches(ended_at) WHERE ended_at IS NOT NULL;
)sql"};

JobResult<int64_t> Number(Database& database, const char* pragma) {
  Query query(database, pragma);
  if (!query.Step()) return query.error();
  return query.Int(0);
}

JobDone Upgrade(Database& database, int64_t version) {
  Transaction change(database);
  if (!change.ok()) return change.error();
  if (JobDone done = database.Run(kVersions[static_cast<size_t>(version)]); !done.ok()) return done;
  const std::string mark =
      absl::StrCat("PRAGMA application_id=", kApplication, "; PRAGMA user_version=", version + 1, ";");
  if (JobDone done = database.Run(mark.c_str()); !done.ok()) return done;
  return change.Commit();
}

}  // namespace

JobResult<bool> IsFresh(Database& database) {
  const auto version = Number(database, "PRAGMA user_version");
  if (!version.ok()) return version.error();
  return *version == 0;
}

JobDone BringUpToDate(Database& database) {
  const auto application = Number(database, "PRAGMA application_id");
  if (!application.ok()) return application.error();
  const auto version = Number(database, "PRAGMA user_version");
  if (!version.ok()) return version.error();
  if (*version != 0 && *application != kApplication) {
    return JobError{JobErrorKind::kDamaged, "jobs.db is another program's database"};
  }
  if (*version > static_cast<int64_t>(kVersions.size())) {
    return JobError{JobErrorKind::kDamaged, absl::StrCat("jobs.db has version ", *version, ", this program knows ",
                                                         kVersions.size(), ": a newer one wrote it")};
  }
  for (int64_t next = *version; next < static_cast<int64_t>(kVersions.size()); ++next) {
    if (JobDone done = Upgrade(database, next); !done.ok()) return done;
  }
  return Done();
}

}  // namespace penstock::jobs
