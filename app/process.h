// A command as a process: its error line and the signals that end it.
#ifndef PENSTOCK_APP_PROCESS_H_
#define PENSTOCK_APP_PROCESS_H_

#include <csignal>
#include <exception>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"
#include "base/units.h"

namespace penstock {

// Prints "penstock COMMAND: MESSAGE" to stderr: at most 8 KiB, harmless for a terminal (base/harmless.h). Returns 1,
// the exit code of a bad run or input.
int Fail(absl::string_view command, absl::string_view message);

// The first act of main. Opens /dev/null on those of the descriptors 0 to 2 that are closed. So no file of the program
// gets such a number, and the lines of stderr with it. A peer that closes, or a file at its size limit, becomes an
// error of the write and not the end of the process. An exception that ends a thread ends the process with a message.
// Its exit code is 1 where memory or threads are short; else it aborts.
void PrepareProcess();

// The message of an exception that nobody handles. A shortage names the limits that may be too low.
std::string MessageOf(const std::exception& surprise);

// Blocks the signals in the calling thread and in every thread that it starts later, so that none is lost. The result
// goes to sigwait or sigtimedwait.
sigset_t BlockSignals(std::initializer_list<int> signals);

// The next of the signals; 0 when none came in time.
int WaitSignal(const sigset_t& signals, Duration timeout);

}  // namespace penstock

#endif  // PENSTOCK_APP_PROCESS_H_
