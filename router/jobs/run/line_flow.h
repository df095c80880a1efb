// The lines of all batches on their way: from the store into memory, into the core, and their answers to the disk.
//
// Invariant: a line is at one place: pending in the store, at hand, in a run, or an answer that is being stored. A
// disk that does not take an answer holds the answer here, and no line begins until it is stored. Answers come as rows,
// and no byte of them is read or copied here. Belongs to the home loop; sessions run on the loops of clients. Cost: two
// messages between loops per line, and one per placement.
#ifndef PENSTOCK_ROUTER_JOBS_RUN_LINE_FLOW_H_
#define PENSTOCK_ROUTER_JOBS_RUN_LINE_FLOW_H_

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/jobs/run/job.h"
#include "router/jobs/run/line_reading.h"
#include "router/jobs/schedule/job_schedule.h"
#include "router/jobs/store/job_values.h"
#include "router/jobs/worker/job_thread.h"
#include "router/live/event_loop.h"
#include "router/session/state/answer_memory.h"

namespace penstock::jobs {

class LineFlow {
 public:
  // Lines and bytes of one read.
  static constexpr int64_t kClaimLines = 128;
  static constexpr int64_t kClaimBytes = 4 << 20;
  // No line begins while answers with more bytes wait for the disk, or with more than a part of the answers' memory.
  static constexpr int64_t kMostStoring = 64 << 20;
  // The part of limits.max_body_memory that lines in memory may take beside requests. A tenant without a line in memory
  // may still read some.
  static constexpr int64_t kBodiesPart = 8;

  LineFlow(EventLoop& home, std::vector<EventLoop*> loops, JobThread& store);

  // The lines of this batch take part from now on.
  void Add(const JobPointer& job);
  // No line of this batch begins any more, and lines at hand are dropped; `leave_engines`: lines at engines end too.
  void Halt(const JobPointer& job, bool leave_engines);
  // This batch, which is quiet, does not take part any more.
  void Remove(BatchKey key);
  // The configuration may have changed.
  void Refresh();
  // No line begins any more. Lines that wait leave; `leave_engines`: the others too.
  void Stop(bool leave_engines);

  int64_t waiting() const { return schedule_.waiting(); }
  int64_t placed() const { return schedule_.placed(); }

 private:
  using AnswerMemoryPointer = std::unique_ptr<AnswerMemory>;

  void Pump();
  // Pump() at the end of the loop's queue, once for many changes.
  void PumpSoon();
  void ArmTimer(Instant at);
  ScheduledJob FactsOf(const Job& job) const;
  // The most lines in the core: as many as the configuration allows and the memory of answers holds.
  void SetMost();
  // An answer has this length.
  void OnSize(size_t bytes);
  // The bytes of the lines in memory, and of the longest ones that reads under way may bring.
  int64_t LineBytes() const;
  void Claim(BatchKey key);
  void OnClaimed(const JobPointer& job, JobResult<ClaimedLines> claimed);
  void StartLine(BatchKey key, Instant now);
  // The number of lines at hand of one lane has changed.
  void CountLane(const JobPointer& job, uint64_t lane);
  void OnNews(const std::shared_ptr<LineRun>& run, LineRun::News news);
  void OnEnded(const JobPointer& job, LineRun& run);
  void TryAgain(const JobPointer& job, LineRun& run);
  // `memory` is that of the answer, which holds it until it is stored. Null: it is short.
  void Store(const JobPointer& job, LineAnswer answer, AnswerMemoryPointer memory);
  // Stores an answer again after a pause: the disk did not take it.
  void StoreLater(const JobPointer& job, LineAnswer answer, AnswerMemoryPointer memory);
  void Note(const JobPointer& job);

  EventLoop& home_;
  const std::vector<EventLoop*> loops_;
  JobThread& store_;
  JobSchedule schedule_;
  std::map<BatchKey, JobPointer> jobs_;
  boost::asio::steady_timer timer_;
  size_t next_loop_ = 0;
  int64_t line_bytes_ = 0;     // The bodies of all lines in memory.
  int64_t claims_ = 0;         // Reads under way.
  int64_t unstored_ = 0;       // Answers that the disk did not take.
  int64_t storing_bytes_ = 0;  // Bytes of the answers that wait for the disk.
  int64_t usual_bytes_ = 0;    // Of an answer, rather too many.
  int64_t part_ = 0;           // The part of the answers' memory for lines.
  bool pump_due_ = false;
  bool stopped_ = false;
};

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_RUN_LINE_FLOW_H_
