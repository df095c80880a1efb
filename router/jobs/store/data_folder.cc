#include "router/jobs/store/data_folder.h"

#include <dirent.h>
#include <sys/random.h>

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

JobDone DataFolder::RemoveUploads() {
  const auto names = NamesIn(Uploads());
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (JobDone gone = Remove(absl::StrCat(Uploads(), "/", name)); !gone.ok()) return gone;
  }
  return Done();
}

JobDone DataFolder::RemoveUnknown(const std::function<bool(const std::string& id)>& known) {
  const auto names = NamesIn(Files());
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (!absl::StartsWith(name, kFilePrefix) || known(name)) continue;
    if (JobDone gone = Remove(PathOf(name)); !gone.ok()) return gone;
  }
  return Done();
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
