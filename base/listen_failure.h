// The error of a listener, with the usual remedy. A function of its arguments; thread-safe.
#ifndef PENSTOCK_BASE_LISTEN_FAILURE_H_
#define PENSTOCK_BASE_LISTEN_FAILURE_H_

#include <string>

namespace penstock {

// "cannot listen on ADDRESS: MESSAGE" and, for the usual codes of the system, the next step of the operator.
std::string ListenFailure(const std::string& address, const std::string& message, int code);

}  // namespace penstock

#endif  // PENSTOCK_BASE_LISTEN_FAILURE_H_
