#include "router/jobs/store/file_readers.h"

#include "absl/strings/str_cat.h"
#include "router/jobs/store/data_file.h"
#include "router/jobs/store/data_folder.h"

namespace penstock::jobs {

std::string FileReaders::DeletedPath(absl::string_view id) const { return absl::StrCat(folder_.Uploads(), "/", id); }

void FileReaders::Begin(absl::string_view id) { readings_[id].readers += 1; }

void FileReaders::End(absl::string_view id) {
  const auto found = readings_.find(id);
  if (found == readings_.end() || --found->second.readers > 0) return;
  if (found->second.deleted) (void)jobs::Remove(DeletedPath(id));
  readings_.erase(found);
}

JobResult<std::string> FileReaders::Read(absl::string_view id, int64_t offset, int64_t length) const {
  const auto found = readings_.find(id);
  const bool deleted = found != readings_.end() && found->second.deleted;
  const auto file = DataFile::Open(deleted ? DeletedPath(id) : folder_.PathOf(id), DataFile::Mode::kRead);
  if (!file.ok()) return file.error();
  return file->ReadWhole(offset, length);
}

JobDone FileReaders::Remove(const StoredFile& file) {
  const auto found = readings_.find(file.id);
  if (found == readings_.end()) return jobs::Remove(folder_.PathOf(file.id));
  Reading& reading = found->second;
  JobDone moved = Rename(folder_.PathOf(file.id), DeletedPath(file.id));
  if (!moved.ok()) return moved.error().kind == JobErrorKind::kGone ? Done() : moved;
  reading.deleted = true;
  reading.tenant = file.tenant;
  reading.bytes = file.bytes;
  return moved;
}

Bytes FileReaders::LeftOf(TenantId tenant) const {
  Bytes left{0};
  for (const auto& [id, reading] : readings_) {
    if (reading.deleted && reading.tenant == tenant) left += reading.bytes;
  }
  return left;
}

}  // namespace penstock::jobs
