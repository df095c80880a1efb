// The lines of batches: their states, and their answers in the files of their batch. JobStore's rules hold: one thread,
// blocking calls.
//
// The life of a line:
//
//   pending --Claim--> running --StoreAnswers--> done or failed
//      ^                  |
//      +-----Return-------+        also by a restart of the router: claims are in memory
//
// Only `pending`, `done` and `failed` are on disk. StoreAnswers writes the answers behind the end that the database
// knows, makes them durable, then commits states, counts and the new end in one transaction. A kill before the commit
// leaves bytes behind the known end, which the next start cuts off. So no stored answer is lost or written twice, and a
// line whose answer is stored never runs again.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_LINE_TABLE_H_
#define PENSTOCK_ROUTER_JOBS_STORE_LINE_TABLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "router/jobs/store/job_error.h"
#include "router/jobs/store/job_values.h"

namespace penstock::jobs {

class Database;
class DataFolder;
class FileTable;

class LineTable {
 public:
  // The line of the error file for a line whose custom_id an earlier line has.
  using DuplicateText = std::function<std::string(const NewLine&)>;

  LineTable(Database& database, DataFolder& folder, FileTable& files);

  // Adds lines of a batch that is validating, all or none, and moves Batch::read_to to `read_to` (LineSplitter::place).
  // Some thousand lines per call cost one wait for the disk. Lines with `error`, and those with a known custom_id, fail
  // at once.
  JobDone Add(BatchKey batch, std::span<const NewLine> lines, InputPlace read_to, const DuplicateText& duplicate);

  // The next pending lines in the order of NewLine::order, then number, returned lines first; at most `most`. They are
  // running from here on. Cost: a read of as many rows. Empty: no line is pending.
  JobResult<std::vector<Line>> Claim(BatchKey batch, int64_t most);
  // A running line without an answer is pending again.
  void Return(BatchKey batch, const Line& line);
  // Forgets all claims of a batch, e.g. before its end is written.
  void Forget(BatchKey batch);

  // Stores the answers, of any batches, all or none, and durable on return. Lines that have an answer, and lines of
  // ended batches, are skipped. The number that was stored. One wait for the disk per file and call: give many. kQuota:
  // the files and open batches of a tenant leave less room.
  JobResult<int64_t> StoreAnswers(std::span<const LineAnswer> answers);

 private:
  // The place of the last claim, and lines before it that came back.
  struct Claims {
    int64_t order = INT64_MIN;
    int64_t number = 0;
    std::vector<Line> returned;
  };
  // The outputs of a batch as the database knows them.
  struct Ends {
    std::string output_id;
    std::string error_id;
    int64_t output_bytes = 0;
    int64_t error_bytes = 0;
    TenantId tenant;
    int64_t grown = 0;  // The change of the bytes.
    LineCounts added;   // The change of the counts.
    TokenUse used;      // The change of the tokens.
  };
  // A line and its new bytes, in the file of its kind.
  struct Stored {
    BatchKey batch;
    int64_t number = 0;
    bool failed = false;
    int64_t offset = 0;
    int64_t length = 0;
  };
  // The bytes for one file, behind its known end.
  struct Tail {
    int64_t from = 0;
    std::string bytes;
  };
  using EndsOf = absl::flat_hash_map<BatchKey, Ends>;
  using Tails = absl::flat_hash_map<std::string, Tail>;

  // Nullopt: the batch has ended.
  JobResult<std::optional<Ends>> Read(BatchKey batch);
  JobResult<bool> IsPending(BatchKey batch, int64_t number);
  // kQuota: the outputs grew by more than their tenants may have.
  JobDone CheckRoom(const EndsOf& ends_of);
  JobDone WriteTail(const std::string& id, const Tail& tail);
  JobDone WriteTails(const Tails& tails);
  JobDone Insert(BatchKey batch, const NewLine& line, bool* known);
  JobDone Update(const Stored& line);
  JobDone UpdateEnds(BatchKey batch, const Ends& ends);
  // Moves Batch::read_to, and joins the model of these lines with that of the earlier ones.
  JobDone NoteRead(BatchKey batch, InputPlace read_to, std::span<const NewLine> lines);
  // Puts the text behind the end of its file.
  static Stored Place(BatchKey batch, int64_t number, bool failed, absl::string_view text, Ends& ends, Tails& tails);

  Database& database_;
  DataFolder& folder_;
  FileTable& files_;
  absl::flat_hash_map<BatchKey, Claims> claims_;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_LINE_TABLE_H_
