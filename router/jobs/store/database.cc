#include "router/jobs/store/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/jobs/store/data_file.h"

namespace penstock::jobs {
namespace {

// The lowest byte of an extended code of SQLite is the kind of the failure.
constexpr int kKindOfCode = 0xff;

constexpr const char* kSettings =
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA cache_size=-8192;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA journal_size_limit=67108864;";

JobErrorKind KindOf(int code, int system_error) {
  switch (code & kKindOfCode) {
    case SQLITE_FULL:
      return JobErrorKind::kDiskFull;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return JobErrorKind::kReadOnly;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return JobErrorKind::kDamaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return JobErrorKind::kLocked;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return system_error == 0 || system_error == ENOENT ? JobErrorKind::kIo : KindOfErrno(system_error);
    default:
      return JobErrorKind::kIo;
  }
}

}  // namespace

JobResult<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (handle == nullptr) return JobError{JobErrorKind::kIo, absl::StrCat(path, ": no memory for a database")};
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK) return database->ErrorOf(code);
  sqlite3_extended_result_codes(handle, 1);
  if (JobDone set = database->Run(kSettings); !set.ok()) return set.error();
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

JobDone Database::Run(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return ErrorOf(code);
  return Done();
}

int64_t Database::Changes() const { return sqlite3_changes64(handle_); }
int64_t Database::LastRow() const { return sqlite3_last_insert_rowid(handle_); }

JobError Database::ErrorOf(int code) const {
  const int system_error = sqlite3_system_errno(handle_);
  return {KindOf(code, system_error), absl::StrCat(path_, ": ", sqlite3_errmsg(handle_))};
}

sqlite3_stmt* Database::Prepared(const char* sql, int& code) {
  sqlite3_stmt*& statement = prepared_[sql];
  code = SQLITE_OK;
  if (statement == nullptr) {
    code = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  }
  return statement;
}

Query::Query(Database& database, const char* sql) : database_(database) {
  int code = SQLITE_OK;
  statement_ = database.Prepared(sql, code);
  Check(code);
}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Query::Check(int code) {
  if (code != SQLITE_OK && !error_) error_ = database_.ErrorOf(code);
}

Query& Query::Bind(int64_t value) {
  if (ok()) Check(sqlite3_bind_int64(statement_, next_++, value));
  return *this;
}

Query& Query::Bind(absl::string_view text) {
  // SQLite takes a null pointer for NULL, and an empty view may have one.
  const char* const bytes = text.empty() ? "" : text.data();
  if (ok()) Check(sqlite3_bind_text64(statement_, next_++, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Query& Query::BindBlob(absl::string_view bytes) {
  if (ok()) Check(sqlite3_bind_blob64(statement_, next_++, bytes.data(), bytes.size(), SQLITE_STATIC));
  return *this;
}

Query& Query::Bind(std::optional<int64_t> value) {
  if (value) return Bind(*value);
  if (ok()) Check(sqlite3_bind_null(statement_, next_++));
  return *this;
}

bool Query::Step() {
  if (!ok()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) Check(code);
  return false;
}

JobDone Query::Run() {
  while (Step()) {
  }
  if (!ok()) return error();
  return Done();
}

int64_t Query::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::optional<int64_t> Query::MaybeInt(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return Int(column);
}

std::string Query::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

Transaction::Transaction(Database& database) : database_(database) {
  const JobDone begun = database.Run("BEGIN IMMEDIATE");
  open_ = begun.ok();
  if (!begun.ok()) error_ = begun.error();
}

// SQLite has ended the transaction by itself after some failures, as a full disk; then there is nothing to end.
Transaction::~Transaction() {
  if (open_) (void)database_.Run("ROLLBACK");
}

JobDone Transaction::Commit() {
  const JobDone done = database_.Run("COMMIT");
  if (done.ok()) open_ = false;
  return done;
}

}  // namespace penstock::jobs
