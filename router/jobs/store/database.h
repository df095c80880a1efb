// One SQLite database: its statements, transactions and errors.
//
//   Query query(database, "SELECT id FROM files WHERE tenant = ?");
//   query.Bind(tenant);
//   while (query.Step()) Use(query.Text(0));
//   if (!query.ok()) return query.error();
//
// The write-ahead log with synchronous=FULL makes a commit durable. The database is locked for this process alone, so
// it needs no shared memory. One thread.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_DATABASE_H_
#define PENSTOCK_ROUTER_JOBS_STORE_DATABASE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "router/jobs/store/job_error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace penstock::jobs {

class Database {
 public:
  // Opens or makes the file. kDamaged: it is no SQLite database.
  static JobResult<std::unique_ptr<Database>> Open(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements without parameters and rows.
  JobDone Run(const char* sql);
  // Rows that the newest statement inserted, changed or removed.
  int64_t Changes() const;
  int64_t LastRow() const;
  // The failure of the newest call, for which SQLite returned `code`.
  JobError ErrorOf(int code) const;

 private:
  friend class Query;

  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  // Prepared once per text; the text has to live as long as the program.
  sqlite3_stmt* Prepared(const char* sql, int& code);

  const std::string path_;
  sqlite3* const handle_;
  absl::flat_hash_map<const char*, sqlite3_stmt*> prepared_;
};

// One run of a statement. `sql` is a literal; one run of it at a time.
class Query {
 public:
  Query(Database& database, const char* sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // The next parameter.
  Query& Bind(int64_t value);
  Query& Bind(absl::string_view text);  // Needs to live until the end of the query.
  Query& BindBlob(absl::string_view bytes);
  Query& Bind(std::optional<int64_t> value);

  // True: there is a row. False: no further row, or an error.
  bool Step();
  // Runs a statement without rows.
  JobDone Run();
  bool ok() const { return !error_; }
  const JobError& error() const { return *error_; }

  int64_t Int(int column) const;
  std::optional<int64_t> MaybeInt(int column) const;
  std::string Text(int column) const;

 private:
  void Check(int code);

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int next_ = 1;
  std::optional<JobError> error_;
};

// Changes that take place together. Without Commit(), none does.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  bool ok() const { return !error_; }
  const JobError& error() const { return *error_; }
  JobDone Commit();

 private:
  Database& database_;
  bool open_ = false;
  std::optional<JobError> error_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_DATABASE_H_
