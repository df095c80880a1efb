#include "router/jobs/store/line_table.h"

#include <xxhash.h>

#include <array>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "router/jobs/store/data_folder.h"
#include "router/jobs/store/database.h"
#include "router/jobs/store/file_table.h"

namespace penstock::jobs {
namespace {

enum class State : int64_t { kPending = 0, kDone = 1, kFailed = 2 };

// 128 bits: equal hashes of different ids do not happen by accident, and a client that makes them harms its own batch.
std::string HashOf(absl::string_view custom_id) {
  const XXH128_hash_t hash = XXH3_128bits(custom_id.data(), custom_id.size());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return std::string(reinterpret_cast<const char*>(bytes.digest), sizeof(bytes.digest));
}

constexpr const char* kInsertLine =
    "INSERT INTO lines(batch, number, offset, length, place, custom_id, state) VALUES(?1, ?2, ?3, ?4, ?5, ?6, 0) "
    "ON CONFLICT DO NOTHING";
constexpr const char* kInsertFailedLine =
    "INSERT INTO lines(batch, number, offset, length, place, custom_id, state) VALUES(?1, ?2, ?3, ?4, 0, NULL, 2) "
    "ON CONFLICT DO NOTHING";
constexpr const char* kNextLines =
    "SELECT number, offset, length, place FROM lines "
    "WHERE batch = ?1 AND state = 0 AND (place, number) > (?2, ?3) ORDER BY place, number LIMIT ?4";
constexpr const char* kUpdateEnds =
    "UPDATE batches SET output_bytes = ?2, error_bytes = ?3, total = total + ?4, completed = completed + ?5, "
    "failed = failed + ?6, has_lines = total + ?4 > 0, input_tokens = input_tokens + ?7, "
    "cached_tokens = cached_tokens + ?8, output_tokens = output_tokens + ?9, "
    "reasoning_tokens = reasoning_tokens + ?10 WHERE key = ?1";
// ?4 is empty for no model and NULL for several. The sum of NULL and a model is NULL.
constexpr const char* kNoteRead =
    "UPDATE batches SET read_bytes = ?2, read_lines = ?3, "
    "model = CASE WHEN ?4 = '' THEN model WHEN model = '' OR model = ?4 THEN ?4 END WHERE key = ?1";

}  // namespace

LineTable::LineTable(Database& database, DataFolder& folder, FileTable& files)
    : database_(database), folder_(folder), files_(files) {}

JobResult<std::optional<LineTable::Ends>> LineTable::Read(BatchKey batch) {
  Query query(database_,
              "SELECT output_id, error_id, output_bytes, error_bytes, tenant FROM batches "
              "WHERE key = ?1 AND ended_at IS NULL");
  query.Bind(batch.value());
  if (!query.Step()) {
    if (!query.ok()) return query.error();
    return std::optional<Ends>();
  }
  Ends ends;
  ends.output_id = query.Text(0);
  ends.error_id = query.Text(1);
  ends.output_bytes = query.Int(2);
  ends.error_bytes = query.Int(3);
  ends.tenant = TenantId(static_cast<uint64_t>(query.Int(4)));
  return std::optional<Ends>(std::move(ends));
}

LineTable::Stored LineTable::Place(BatchKey batch, int64_t number, bool failed, absl::string_view text, Ends& ends,
                                   Tails& tails) {
  int64_t& end = failed ? ends.error_bytes : ends.output_bytes;
  Tail& tail = tails[failed ? ends.error_id : ends.output_id];
  if (tail.bytes.empty()) tail.from = end;
  tail.bytes.append(text.data(), text.size());
  const auto length = static_cast<int64_t>(text.size());
  const Stored stored{batch, number, failed, end, length};
  end += length;
  ends.grown += length;
  (failed ? ends.added.failed : ends.added.completed) += 1;
  return stored;
}

JobDone LineTable::CheckRoom(const EndsOf& ends_of) {
  absl::flat_hash_map<TenantId, Bytes> grown;
  for (const auto& [batch, ends] : ends_of) grown[ends.tenant] += Bytes(ends.grown);
  for (const auto& [tenant, more] : grown) {
    if (more == Bytes(0)) continue;
    if (JobDone room = files_.CheckRoom(tenant, more); !room.ok()) return room;
  }
  return Done();
}

// Bytes behind the known end are left of a write whose commit failed.
JobDone LineTable::WriteTail(const std::string& id, const Tail& tail) {
  const bool is_new = tail.from == 0;
  auto file = DataFile::Open(folder_.PathOf(id), is_new ? DataFile::Mode::kMake : DataFile::Mode::kWrite);
  if (!file.ok()) return file.error();
  const auto size = file->Size();
  if (!size.ok()) return size.error();
  if (*size < tail.from) {
    return JobError{JobErrorKind::kGone, absl::StrCat(folder_.PathOf(id), ": the file was cut")};
  }
  JobDone written = file->WriteAt(tail.from, tail.bytes);
  if (written.ok()) written = file->Sync();
  if (!written.ok()) {
    // A part of an answer keeps no room of a full disk.
    (void)file->Truncate(tail.from);
    return written;
  }
  return is_new ? SyncFolder(folder_.Files()) : Done();
}

JobDone LineTable::WriteTails(const Tails& tails) {
  for (const auto& [id, tail] : tails) {
    if (JobDone written = WriteTail(id, tail); !written.ok()) return written;
  }
  return Done();
}

JobDone LineTable::Insert(BatchKey batch, const NewLine& line, bool* known) {
  const std::string hash = HashOf(line.custom_id);
  Query insert(database_, line.error.empty() ? kInsertLine : kInsertFailedLine);
  insert.Bind(batch.value()).Bind(line.number).Bind(line.offset).Bind(line.length);
  if (line.error.empty()) insert.Bind(static_cast<int64_t>(line.order)).BindBlob(hash);
  JobDone done = insert.Run();
  *known = done.ok() && database_.Changes() == 0;
  return done;
}

JobDone LineTable::UpdateEnds(BatchKey batch, const Ends& ends) {
  Query update(database_, kUpdateEnds);
  update.Bind(batch.value()).Bind(ends.output_bytes).Bind(ends.error_bytes);
  update.Bind(ends.added.total).Bind(ends.added.completed).Bind(ends.added.failed);
  update.Bind(ends.used.input.value()).Bind(ends.used.cached.value());
  update.Bind(ends.used.output.value()).Bind(ends.used.reasoning.value());
  return update.Run();
}

JobDone LineTable::NoteRead(BatchKey batch, InputPlace read_to, std::span<const NewLine> lines) {
  absl::string_view model;
  bool several = false;
  for (const NewLine& line : lines) {
    if (!line.error.empty() || line.model.empty()) continue;
    several = several || (!model.empty() && model != line.model);
    model = line.model;
  }
  Query read(database_, kNoteRead);
  read.Bind(batch.value()).Bind(read_to.offset).Bind(read_to.lines);
  if (!several) read.Bind(model);
  return read.Run();
}

// A known custom_id shows inside the transaction only; so the bytes are written there, before the commit.
JobDone LineTable::Add(BatchKey batch, std::span<const NewLine> lines, InputPlace read_to,
                       const DuplicateText& duplicate) {
  auto ends = Read(batch);
  if (!ends.ok()) return ends.error();
  if (!*ends) return JobError{JobErrorKind::kConflict, "The batch has ended."};
  Tails tails;
  Transaction change(database_);
  if (!change.ok()) return change.error();
  for (const NewLine& line : lines) {
    bool known = false;
    if (JobDone done = Insert(batch, line, &known); !done.ok()) return done;
    std::string error = line.error;
    if (known) {
      error = duplicate(line);
      NewLine failed = line;
      failed.error = error;
      if (JobDone done = Insert(batch, failed, &known); !done.ok()) return done;
      if (known) continue;  // The line itself is in the store already.
    }
    (*ends)->added.total += 1;
    if (error.empty()) continue;
    const Stored stored = Place(batch, line.number, /*failed=*/true, error, **ends, tails);
    if (JobDone done = Update(stored); !done.ok()) return done;
  }
  if (JobDone written = WriteTails(tails); !written.ok()) return written;
  if (JobDone done = UpdateEnds(batch, **ends); !done.ok()) return done;
  if (JobDone done = NoteRead(batch, read_to, lines); !done.ok()) return done;
  return change.Commit();
}

JobResult<std::vector<Line>> LineTable::Claim(BatchKey batch, int64_t most) {
  Claims& claims = claims_[batch];
  std::vector<Line> claimed;
  while (!claims.returned.empty() && static_cast<int64_t>(claimed.size()) < most) {
    claimed.push_back(claims.returned.back());
    claims.returned.pop_back();
  }
  const auto returned = static_cast<std::ptrdiff_t>(claimed.size());
  Query next(database_, kNextLines);
  next.Bind(batch.value()).Bind(claims.order).Bind(claims.number).Bind(most - returned);
  Claims after = claims;
  while (returned < most && next.Step()) {
    claimed.push_back(Line{next.Int(0), next.Int(1), next.Int(2)});
    after.number = next.Int(0);
    after.order = next.Int(3);
  }
  if (!next.ok()) {
    claims.returned.assign(claimed.begin(), claimed.begin() + returned);
    return next.error();
  }
  claims = std::move(after);
  return claimed;
}

void LineTable::Return(BatchKey batch, const Line& line) { claims_[batch].returned.push_back(line); }

void LineTable::Forget(BatchKey batch) { claims_.erase(batch); }

JobResult<bool> LineTable::IsPending(BatchKey batch, int64_t number) {
  Query query(database_, "SELECT 1 FROM lines WHERE batch = ?1 AND number = ?2 AND state = 0");
  query.Bind(batch.value()).Bind(number);
  const bool pending = query.Step();
  if (!query.ok()) return query.error();
  return pending;
}

JobDone LineTable::Update(const Stored& line) {
  Query update(database_,
               "UPDATE lines SET state = ?3, answer_offset = ?4, answer_length = ?5 WHERE batch = ?1 AND number = ?2");
  const State state = line.failed ? State::kFailed : State::kDone;
  update.Bind(line.batch.value()).Bind(line.number).Bind(static_cast<int64_t>(state));
  update.Bind(line.offset).Bind(line.length);
  return update.Run();
}

JobResult<int64_t> LineTable::StoreAnswers(std::span<const LineAnswer> answers) {
  EndsOf ends_of;
  Tails tails;
  std::vector<Stored> stored;
  absl::flat_hash_set<std::pair<BatchKey, int64_t>> seen;
  for (const LineAnswer& answer : answers) {
    auto [known, is_new] = ends_of.try_emplace(answer.batch);
    if (is_new) {
      auto ends = Read(answer.batch);
      if (!ends.ok()) return ends.error();
      if (*ends) known->second = **std::move(ends);
    }
    Ends& ends = known->second;
    if (ends.output_id.empty() || !seen.insert({answer.batch, answer.number}).second) continue;
    const auto pending = IsPending(answer.batch, answer.number);
    if (!pending.ok()) return pending.error();
    if (!*pending) continue;
    stored.push_back(Place(answer.batch, answer.number, answer.failed, answer.text, ends, tails));
    ends.used.input += answer.use.input;
    ends.used.cached += answer.use.cached;
    ends.used.output += answer.use.output;
    ends.used.reasoning += answer.use.reasoning;
  }
  if (stored.empty()) return int64_t{0};
  if (JobDone room = CheckRoom(ends_of); !room.ok()) return room.error();
  if (JobDone written = WriteTails(tails); !written.ok()) return written.error();
  Transaction change(database_);
  if (!change.ok()) return change.error();
  for (const Stored& line : stored) {
    if (JobDone done = Update(line); !done.ok()) return done.error();
  }
  for (const auto& [batch, ends] : ends_of) {
    if (ends.output_id.empty()) continue;
    if (JobDone done = UpdateEnds(batch, ends); !done.ok()) return done.error();
  }
  if (JobDone done = change.Commit(); !done.ok()) return done.error();
  return static_cast<int64_t>(stored.size());
}

}  // namespace penstock::jobs
