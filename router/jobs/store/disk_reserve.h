// Room on the disk for the changes that give room back: a file holds it.
//
// A full disk takes no change of the database, so no deletion of a file and no end of a batch either. Such a change
// borrows the room of the reserve, which takes it back from what the change freed. A kill in between leaves a smaller
// file, which the next start fills. One thread.
#ifndef PENSTOCK_ROUTER_JOBS_STORE_DISK_RESERVE_H_
#define PENSTOCK_ROUTER_JOBS_STORE_DISK_RESERVE_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "router/jobs/store/job_error.h"

namespace penstock::jobs {

class Database;

class DiskReserve {
 public:
  // A change needs some tens of KiB of it.
  static constexpr int64_t kBytes = 1 << 20;

  DiskReserve(Database& database, std::string path) : database_(database), path_(std::move(path)) {}

  // Runs `change`, all or nothing, which returns a JobResult. On a full disk it runs once more with the room of the
  // reserve.
  template <class Change>
  std::invoke_result_t<Change&> Lend(Change change) {
    auto done = change();
    if (done.ok() || done.error().kind != JobErrorKind::kDiskFull) return done;
    Restore();
    const int64_t lent = Release();
    done = change();
    Take(lent);
    ShortenLog();
    Restore();
    return done;
  }
  // Holds all of it again where it fits. Outside of transactions. Costs nothing while the reserve is whole.
  void Restore();
  bool whole() const { return held_ == kBytes; }

 private:
  // Takes as much as fits, and no more than `most`.
  void Take(int64_t most);
  // Takes the rest or nothing: a disk that is too small for it keeps its room.
  void TakeRest();
  // Returns the bytes that were held.
  int64_t Release();
  // The log of the database gives its room back.
  void ShortenLog();

  Database& database_;
  const std::string path_;
  int64_t held_ = 0;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_STORE_DISK_RESERVE_H_
