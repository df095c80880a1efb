#include "router/jobs/store/disk_reserve.h"

#include <algorithm>
#include <utility>

#include "router/jobs/store/data_file.h"
#include "router/jobs/store/database.h"

namespace penstock::jobs {
namespace {

constexpr int64_t kStep = 64 << 10;
static_assert(DiskReserve::kBytes % kStep == 0);

}  // namespace

void DiskReserve::Take(int64_t most) {
  auto file = DataFile::Open(path_, DataFile::Mode::kMake);
  while (file.ok() && held_ < most && file->Allocate(held_, kStep).ok()) held_ += kStep;
}

void DiskReserve::TakeRest() {
  auto file = DataFile::Open(path_, DataFile::Mode::kMake);
  if (!file.ok()) return;
  const auto size = file->Size();
  if (held_ == 0 && size.ok()) held_ = std::min(*size, kBytes) / kStep * kStep;
  if (file->Allocate(0, kBytes).ok()) {
    held_ = kBytes;
  } else {
    (void)file->Truncate(held_);
  }
}

int64_t DiskReserve::Release() {
  auto file = DataFile::Open(path_, DataFile::Mode::kWrite);
  if (file.ok()) (void)file->Truncate(0);
  return std::exchange(held_, 0);
}

// Its pages go to the database, which may need room. So a full disk may leave it as it is.
void DiskReserve::ShortenLog() { (void)database_.Run("PRAGMA wal_checkpoint(TRUNCATE)"); }

void DiskReserve::Restore() {
  if (!whole()) TakeRest();
  if (whole()) return;
  ShortenLog();
  TakeRest();
}

}  // namespace penstock::jobs
