#include "router/jobs/store/data_folder.h"

#include <dirent.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace penstock::jobs {
namespace {

JobResult<std::vector<std::string>> NamesIn(const std::string& folder) {
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) return SystemError(folder);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(open);
  return names;
}

// The kind of the entry itself, not of a link's target; 0: there is none.
mode_t KindOf(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 ? facts.st_mode & S_IFMT : 0;
}

bool IsOfStore(const std::string& name) { return absl::StartsWith(name, kFilePrefix); }

constexpr absl::string_view kDigits = "0123456789abcdefghijkmnopqrstuvw";
static_assert(kDigits.size() == 32, "a byte modulo 32 takes every digit equally often");

}  // namespace

JobResult<std::unique_ptr<DataFolder>> DataFolder::Open(const std::string& folder) {
  if (JobDone made = MakeFolder(folder); !made.ok()) return made.error();
  auto lock = DataFile::Open(absl::StrCat(folder, "/lock"), DataFile::Mode::kMake);
  if (!lock.ok()) return lock.error();
  if (JobDone locked = lock->Lock(); !locked.ok()) return locked.error();
  std::unique_ptr<DataFolder> made(new DataFolder(folder, *std::move(lock)));
  if (JobDone files = MakeFolder(made->Files()); !files.ok()) return files.error();
  if (JobDone uploads = MakeFolder(made->Uploads()); !uploads.ok()) return uploads.error();
  if (JobDone synced = SyncFolder(folder); !synced.ok()) return synced.error();
  return made;
}

JobError LostDatabase(const std::string& database, int64_t count) {
  return {JobErrorKind::kDamaged,
          absl::StrCat(database, " is missing or empty, and ", count,
                       " files of it are in files/. Restore jobs.db and jobs.db-wal from a backup. To begin anew "
                       "without the files, move files/ away.")};
}

JobDone DataFolder::CheckDatabase() const {
  struct stat facts {};
  // SQLite would wait for the other end of a FIFO.
  for (const char* part : {"", "-journal", "-wal", "-shm"}) {
    const std::string path = absl::StrCat(DatabasePath(), part);
    const bool other = ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
    if (other) return JobError{JobErrorKind::kDamaged, absl::StrCat(path, ": it is no regular file")};
  }
  const bool there = ::stat(DatabasePath().c_str(), &facts) == 0;
  if (!there && errno != ENOENT) return SystemError(DatabasePath());
  if (there && facts.st_size > 0) return Done();
  const auto count = CountFiles();
  if (!count.ok()) return count.error();
  return *count == 0 ? Done() : JobDone(LostDatabase(DatabasePath(), *count));
}

JobResult<int64_t> DataFolder::CountFiles() const {
  const auto names = NamesIn(Files());
  if (!names.ok()) return names.error();
  return static_cast<int64_t>(std::count_if(names->begin(), names->end(), IsOfStore));
}

JobResult<int64_t> DataFolder::RemoveUploads() {
  const auto names = NamesIn(Uploads());
  if (!names.ok()) return names.error();
  int64_t count = 0;
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(Uploads(), "/", name);
    if (KindOf(path) == S_IFDIR) continue;
    if (JobDone gone = Remove(path); !gone.ok()) return gone.error();
    ++count;
  }
  return count;
}

JobResult<int64_t> DataFolder::SetUnknownAside(const std::function<bool(const std::string& id)>& known) {
  const auto names = NamesIn(Files());
  if (!names.ok()) return names.error();
  int64_t count = 0;
  for (const std::string& name : *names) {
    if (!IsOfStore(name) || known(name)) continue;
    if (JobDone made = MakeFolder(Unknown()); !made.ok()) return made.error();
    if (KindOf(Unknown()) != S_IFDIR)
      return JobError{JobErrorKind::kDamaged, absl::StrCat(Unknown(), ": it is a link")};
    if (JobDone moved = Rename(PathOf(name), absl::StrCat(Unknown(), "/", name)); !moved.ok()) return moved.error();
    ++count;
  }
  return count;
}

std::string NewId(absl::string_view prefix, int digits) {
  std::array<unsigned char, 64> bytes{};
  // The system gives up to 256 bytes at once and is never interrupted.
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  std::string id(prefix);
  for (int i = 0; i < digits; ++i) id.push_back(kDigits[bytes[static_cast<size_t>(i)] % kDigits.size()]);
  return id;
}

}  // namespace penstock::jobs
