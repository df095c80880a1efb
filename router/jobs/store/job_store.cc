#include "router/jobs/store/job_store.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "router/jobs/store/data_folder.h"
#include "router/jobs/store/database.h"
#include "router/jobs/store/disk_reserve.h"
#include "router/jobs/store/schema.h"

namespace penstock::jobs {
namespace {

// Files that one call of Tidy removes.
constexpr int64_t kTidyFiles = 100;

JobError In(const std::string& folder, const JobError& error) {
  return {error.kind, absl::StrCat("the job store in ", folder, " cannot be used: ", error.message)};
}

// A lost log may have held the tables of a database, which is then as empty as a fresh one.
JobDone CheckFresh(Database& database, const DataFolder& place) {
  const auto fresh = IsFresh(database);
  if (!fresh.ok()) return fresh.error();
  const auto count = place.CountFiles();
  if (!count.ok()) return count.error();
  return *fresh && *count > 0 ? JobDone(LostDatabase(place.DatabasePath(), *count)) : Done();
}

}  // namespace

struct JobStore::Parts {
  Parts(std::unique_ptr<DataFolder> the_folder, std::unique_ptr<Database> the_database, const StoreLimits& the_limits)
      : limits(the_limits),
        folder(std::move(the_folder)),
        database(std::move(the_database)),
        reserve(*database, folder->ReservePath()),
        files(*database, *folder, reserve, limits),
        batches(*database, *folder, reserve, files, limits),
        lines(*database, *folder, files) {}

  StoreLimits limits;
  std::unique_ptr<DataFolder> folder;
  std::unique_ptr<Database> database;
  DiskReserve reserve;
  FileTable files;
  BatchTable batches;
  LineTable lines;
  StoreLeftovers leftovers;
};

JobStore::JobStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
JobStore::~JobStore() = default;

FileTable& JobStore::files() { return parts_->files; }
BatchTable& JobStore::batches() { return parts_->batches; }
LineTable& JobStore::lines() { return parts_->lines; }

JobResult<std::unique_ptr<JobStore>> JobStore::Open(const std::string& folder, const StoreLimits& limits) {
  auto place = DataFolder::Open(folder);
  if (!place.ok()) return In(folder, place.error());
  if (JobDone there = (*place)->CheckDatabase(); !there.ok()) return In(folder, there.error());
  auto database = Database::Open((*place)->DatabasePath());
  if (!database.ok()) return In(folder, database.error());
  if (JobDone fit = CheckFresh(**database, **place); !fit.ok()) return In(folder, fit.error());
  if (JobDone fresh = BringUpToDate(**database); !fresh.ok()) return In(folder, fresh.error());
  auto parts = std::make_unique<Parts>(*std::move(place), *std::move(database), limits);
  std::unique_ptr<JobStore> store(new JobStore(std::move(parts)));
  if (JobDone recovered = store->Recover(); !recovered.ok()) return In(folder, recovered.error());
  return store;
}

JobDone JobStore::Recover() {
  Parts& p = *parts_;
  if (JobDone loaded = p.files.Load(); !loaded.ok()) return loaded;
  if (JobDone cut = p.batches.Recover(); !cut.ok()) return cut;
  const auto uploads = p.folder->RemoveUploads();
  if (!uploads.ok()) return uploads.error();
  absl::flat_hash_set<std::string> outputs;
  JobDone listed = p.batches.KnownOutputs([&outputs](const std::string& id) { outputs.insert(id); });
  if (!listed.ok()) return listed;
  JobDone asked = Done();
  const auto aside = p.folder->SetUnknownAside([&](const std::string& id) {
    if (outputs.contains(id)) return true;
    Query known(*p.database, "SELECT 1 FROM files WHERE id = ?1");
    known.Bind(id);
    const bool is_known = known.Step();
    if (!known.ok()) asked = known.error();
    return is_known || !known.ok();
  });
  if (!asked.ok() || !aside.ok()) return asked.ok() ? aside.error() : asked.error();
  p.reserve.Restore();
  p.leftovers = {.uploads = *uploads, .unknown = *aside, .no_reserve = !p.reserve.whole()};
  return Done();
}

void JobStore::SetLimits(const StoreLimits& limits) { parts_->limits = limits; }

JobResult<bool> JobStore::Tidy(UnixSeconds now) {
  const auto files = parts_->files.RemoveExpired(now, kTidyFiles);
  if (!files.ok()) return files.error();
  parts_->reserve.Restore();
  auto batches = parts_->batches.Tidy(now);
  if (!batches.ok()) return batches;
  return *batches || *files == kTidyFiles;
}

const StoreLeftovers& JobStore::leftovers() const { return parts_->leftovers; }

StoreUse JobStore::Use() { return {parts_->files.count(), parts_->files.bytes(), parts_->batches.open_count()}; }

}  // namespace penstock::jobs
