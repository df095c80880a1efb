// A request's accounts: its ticket at the core and its charge at its tenant's limits. Each is settled exactly once.
//
// Destroyed unsettled, the ticket closes as of a vanished client and the charge goes back. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_ADMISSION_H_
#define PENSTOCK_ROUTER_SESSION_ADMISSION_H_

#include <optional>

#include "router/live/tenant_limiter.h"
#include "router/live/ticket.h"
#include "router/openai/error/api_error.h"
#include "router/session/session_state.h"

namespace penstock {

class Admission {
 public:
  explicit Admission(SessionState& state) : state_(state) {}

  // Takes the demand off the tenant's allowance; the error ends the request. Nothing for tenants without limits.
  std::optional<ApiError> Charge();
  // Tells the core of the request and estimates its prompt. `holder` must outlive this.
  void Arrive(TicketHolder& holder);
  bool arrived() const { return ticket_.has_value(); }
  // After Arrive.
  Ticket& ticket() { return *ticket_; }

  // Returns the request to the core for another attempt, with the tokens that its client has.
  void Requeue(bool aborted);
  // Nothing if it closed before, or was refused.
  void Close(Outcome outcome);

 private:
  void SettleCharge(const RequestClosed& closed);

  SessionState& state_;
  TenantCharge charge_;
  std::optional<Ticket> ticket_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_ADMISSION_H_
