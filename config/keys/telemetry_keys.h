// The keys of the log and of traces.
#ifndef PENSTOCK_CONFIG_KEYS_TELEMETRY_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_TELEMETRY_KEYS_H_

#include "base/log_form.h"
#include "config/keys/key.h"
#include "config/values/telemetry_values.h"

namespace penstock {

inline SectionDoc DocOf(const LogConfig&) { return {"log", "The log: decisions, faults, notices and requests."}; }

template <Of<LogConfig> Section, class Visitor>
void VisitFields(Section& log, Visitor& visit) {
  visit({"level",
         "Lines of this level and above: error; warning, also refusals; info, also notices and what the keys below "
         "add; debug, also every decision."},
        log.level, ChoiceForm{kLogLevelNames});
  visit({"format", "Form of a line. auto: text on a terminal, else JSON.", kNeedsRestart}, log.format,
        ChoiceForm{kLogFormatNames});
  visit({"access", "True: also a line for every HTTP request that was answered."}, log.access, FlagForm{});
  visit({"all_decisions",
         "True: also a line for every forward, park, abort and end of a request. Refusals, errors and notices have one "
         "without it. Unknown keys, unknown models and bad PROXY headers have 5 lines a second each."},
        log.all_decisions, FlagForm{});
  visit({"path", "File of the log. Left out: stderr.", kNeedsRestart}, log.path, PathForm{});
}

inline SectionDoc DocOf(const TracingConfig&) {
  return {"tracing", "Traces of requests, sent to a collector as OTLP over HTTP in JSON."};
}

template <Of<TracingConfig> Section, class Visitor>
void VisitFields(Section& tracing, Visitor& visit) {
  visit({"endpoint", "Address of the collector, as http://collector:4318; /v1/traces is added.",
         kRequired | kNeedsRestart},
        tracing.endpoint, EngineUrlForm{});
  visit({"sample",
         "Share of requests that are traced, where the client made no choice in its traceparent. Its choice counts.",
         kNeedsRestart},
        tracing.sample, NumberForm{0, 1});
  visit({"headers", "Headers for the collector: names to secrets.", kUnlessZero | kNeedsRestart}, tracing.headers,
        SecretMapForm{});
  visit({"service_name", "The name of this router in traces.", kNeedsRestart}, tracing.service_name, NameForm{});
  visit({"interval", "Longest time that ended traces wait to be sent together.", kNeedsRestart}, tracing.interval,
        TimeForm{Duration::Milliseconds(10), Duration::Seconds(60)});
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_TELEMETRY_KEYS_H_
