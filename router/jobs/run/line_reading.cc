#include "router/jobs/run/line_reading.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/jobs/batch/batch_request.h"
#include "router/jobs/batch/batch_text.h"
#include "router/jobs/batch/prefix_order.h"
#include "router/jobs/input/batch_line.h"
#include "router/jobs/input/line_splitter.h"
#include "router/openai/request/request_scan.h"

namespace penstock::jobs {
namespace {

// Some tens of milliseconds of the store's thread.
constexpr int64_t kSliceBytes = 1 << 20;
constexpr size_t kSliceLines = 4096;
// The most of one request, as of one over HTTP.
constexpr size_t kMaxLine = 64 << 20;
// A longer name is none of an engine's models. The batch does not show it.
constexpr size_t kLongestModel = 256;

LineFault LineTooLong() {
  return {"line_too_long", absl::StrCat("This line is longer than ", kMaxLine >> 20, " MiB."), "", 0};
}

// Fills in what the store needs of a line; a bad one gets its error.
std::optional<LineFault> Judge(const SplitLine& split, const Batch& batch, Endpoint endpoint, NewLine& line) {
  if (split.too_long) return LineTooLong();
  std::variant<BatchLine, LineFault> read = ReadBatchLine(split.text, batch.endpoint);
  if (LineFault* fault = std::get_if<LineFault>(&read)) return std::move(*fault);
  BatchLine& good = std::get<BatchLine>(read);
  line.custom_id = std::move(good.custom_id);
  if (good.model.size() <= kLongestModel) line.model = std::move(good.model);
  const std::variant<RequestFacts, ApiError> facts = ScanRequest(endpoint, good.body, AllOutputLimits());
  // A body that the engine would refuse too fails when it runs, with the router's error as its response.
  if (const RequestFacts* known = std::get_if<RequestFacts>(&facts)) line.order = PrefixOrder(good.body, *known);
  return std::nullopt;
}

void NoteFault(const Batch& batch, const LineFault& fault, NewLine& line, ReadSlice& slice) {
  const std::string& custom_id = line.custom_id.empty() ? fault.custom_id : line.custom_id;
  line.error =
      ErrorText({LineId(batch.id, line.number), custom_id}, fault.code, fault.message, {line.number, fault.column});
  if (slice.errors.size() >= kMostErrorsOfBatch) return;
  slice.errors.push_back(BatchErrorJson({fault.code, fault.message, fault.param, line.number}));
}

JobDone AddLines(JobStore& store, const Batch& batch, const std::vector<NewLine>& lines, InputPlace place,
                 ReadSlice& slice) {
  const auto duplicate = [&](const NewLine& line) {
    const LineFault fault{"duplicate_custom_id",
                          absl::StrCat("The custom_id '", line.custom_id, "' is that of an earlier line."), "custom_id",
                          0};
    NewLine failed = line;
    NoteFault(batch, fault, failed, slice);
    return failed.error;
  };
  return store.lines().Add(batch.key, lines, place, duplicate);
}

}  // namespace

JobResult<ReadSlice> ReadOn(JobStore& store, BatchKey key) {
  const JobResult<Batch> batch = store.batches().Find(key);
  if (!batch.ok()) return batch.error();
  const Endpoint endpoint = EndpointOfPath(batch->endpoint).value_or(Endpoint::kChat);
  ReadSlice slice;
  std::vector<NewLine> lines;
  LineSplitter splitter(kMaxLine, batch->read_to);
  int64_t offset = batch->read_to.offset;
  // Only a line that is longer than a slice is read on.
  while (splitter.place() == batch->read_to && !slice.ended) {
    const JobResult<std::string> bytes = store.files().Read(batch->input_file_id, offset, kSliceBytes);
    if (!bytes.ok()) return bytes.error();
    slice.ended = static_cast<int64_t>(bytes->size()) < kSliceBytes;
    offset += static_cast<int64_t>(bytes->size());
    splitter.Offer(*bytes, slice.ended);
    SplitLine split;
    while (lines.size() < kSliceLines && splitter.Next(split)) {
      NewLine& line = lines.emplace_back();
      static_cast<Line&>(line) = {split.number, split.offset, split.length};
      if (const auto fault = Judge(split, *batch, endpoint, line)) NoteFault(*batch, *fault, line, slice);
    }
    slice.ended = slice.ended && lines.size() < kSliceLines;
  }
  if (const JobDone added = AddLines(store, *batch, lines, splitter.place(), slice); !added.ok()) return added.error();
  const JobResult<Batch> now = store.batches().Find(key);
  if (!now.ok()) return now.error();
  slice.counts = now->counts;
  const JobDone within = store.batches().CheckSize(*now);
  if (within.ok()) return slice;
  if (within.error().kind != JobErrorKind::kQuota) return within.error();
  slice.refusal = BatchErrorJson({"batch_too_large", within.error().message, "input_file_id", 0});
  return slice;
}

JobResult<ClaimedLines> ClaimLines(JobStore& store, const Batch& batch, ClaimBounds bounds) {
  const JobResult<std::vector<Line>> lines = store.lines().Claim(batch.key, bounds.lines);
  if (!lines.ok()) return lines.error();
  ClaimedLines claimed;
  claimed.drained = lines->empty();
  int64_t taken = 0;
  std::optional<JobError> fault;
  for (const Line& line : *lines) {
    if (fault || (taken > 0 && taken + line.length > bounds.bytes)) {
      store.lines().Return(batch.key, line);
      continue;
    }
    taken += line.length;
    const JobResult<std::string> bytes = store.files().Read(batch.input_file_id, line.offset, line.length);
    // A fault of the disk may pass; bytes that are gone do not come back.
    if (!bytes.ok() && bytes.error().kind != JobErrorKind::kGone) {
      fault = bytes.error();
      store.lines().Return(batch.key, line);
      continue;
    }
    std::variant<BatchLine, LineFault> read =
        ReadBatchLine(bytes.ok() ? absl::string_view(*bytes) : absl::string_view(), batch.endpoint);
    if (BatchLine* good = std::get_if<BatchLine>(&read)) {
      claimed.tasks.push_back(
          {line, std::move(good->custom_id), std::string(good->body), absl::HashOf(good->model), 0});
      continue;
    }
    claimed.broken.push_back({batch.key, line.number, /*failed=*/true,
                              ErrorText({LineId(batch.id, line.number), ""}, "input_file_unreadable",
                                        "The bytes of this line cannot be read any more.", {line.number, 0})});
  }
  if (!fault) return claimed;
  for (const LineTask& task : claimed.tasks) store.lines().Return(batch.key, task.line);
  for (const LineAnswer& line : claimed.broken) {
    const auto same = [&line](const Line& each) { return each.number == line.number; };
    store.lines().Return(batch.key, *std::find_if(lines->begin(), lines->end(), same));
  }
  return *std::move(fault);
}

}  // namespace penstock::jobs
