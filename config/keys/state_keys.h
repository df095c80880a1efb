// The keys of the job store.
#ifndef PENSTOCK_CONFIG_KEYS_STATE_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_STATE_KEYS_H_

#include "config/keys/key.h"
#include "config/values/config_values.h"

namespace penstock {

inline constexpr SizeForm kTotalSize{Bytes(1'000), Bytes(int64_t{1} << 40)};

inline SectionDoc DocOf(const StateConfig&) { return {"state", "The job store: files and batches, over restarts."}; }

template <Of<StateConfig> Section, class Visitor>
void VisitFields(Section& state, Visitor& visit) {
  visit({"path", "Folder of files and batches. Left out: the router has neither.", kNeedsRestart}, state.path,
        PathForm{});
  visit({"max_file", "Largest file; 413 beyond."}, state.max_file, kTotalSize);
  visit({"max_bytes_per_tenant", "Most bytes in the files and open batches of one tenant; 403 beyond."},
        state.max_bytes_per_tenant, kTotalSize);
  visit({"max_files_per_tenant",
         "Most files of one tenant; 403 beyond. Of its ended batches as many stay: the oldest without files are "
         "forgotten."},
        state.max_files_per_tenant, CountForm{1, 10'000'000});
  visit({"max_open_batches_per_tenant", "Most batches of one tenant that have not ended; 403 beyond."},
        state.max_open_batches_per_tenant, CountForm{1, 100'000});
  visit(
      {"file_expiry",
       "Life of files whose client names none, from their creation. An ended batch goes after as long, and not before "
       "its output and error files. Left out: both stay, files until they are deleted."},
      state.file_expiry, TimeForm{Duration::Seconds(1), Duration::Seconds(3650 * 86'400.0)});
  visit({"max_running_lines", "Most lines of batches that wait or run in the router at a time."},
        state.max_running_lines, CountForm{1, 65'536});
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_STATE_KEYS_H_
