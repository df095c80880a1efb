// One request for the job store, and its answer within the memory of all answers.
//
// Runs on the loop of the request. Every access to the store is a call of its thread.
#ifndef PENSTOCK_ROUTER_JOBS_API_STORE_CALL_H_
#define PENSTOCK_ROUTER_JOBS_API_STORE_CALL_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "router/jobs/worker/job_thread.h"
#include "router/openai/error/api_error.h"
#include "router/session/client/client.h"
#include "router/session/state/answer_memory.h"

namespace penstock::jobs {

// All outlive the call.
struct StoreCall {
  JobThread& store;
  boost::asio::io_context& io;
  TenantId tenant;
  uint64_t caller = 0;  // The account of the caller, for its part of what all share.
  AnswerMemory& memory;
  Client& client;
};

// The error that a client was answered with; nullopt: it has its answer, or is gone.
using Failed = std::optional<ApiError>;

boost::asio::awaitable<Failed> Fail(StoreCall call, ApiError error);
// The whole answer is this JSON. It is held until the client has taken it.
boost::asio::awaitable<Failed> AnswerJson(StoreCall call, std::string json);
// The memory of answers is full, which is counted: the client may never take the error.
ApiError NoRoom(const StoreCall& call);

inline constexpr absl::string_view kJsonType = "application/json";

}  // namespace penstock::jobs

#endif  // PENSTOCK_ROUTER_JOBS_API_STORE_CALL_H_
