// The keys of routes, of pages of other origins, of compression and of WebSockets.
#ifndef PENSTOCK_CONFIG_KEYS_CLIENT_KEYS_H_
#define PENSTOCK_CONFIG_KEYS_CLIENT_KEYS_H_

#include "config/keys/key.h"
#include "config/keys/names.h"
#include "config/values/client_config.h"

namespace penstock {

inline SectionDoc DocOf(const RouteConfig&) {
  return {"route", "A path of engines that Penstock passes without knowing its meaning."};
}

template <Of<RouteConfig> Section, class Visitor>
void VisitFields(Section& route, Visitor& visit) {
  visit({"path", "Path at the router and at the engine. With `/*` at its end: every path below.", kRequired},
        route.path, FilledTextForm{});
  visit({"methods", "GET, POST or DELETE. Left out: POST."}, route.methods, TextsForm{});
  visit({"model",
         "Where a request names its model: `body:FIELD` of a JSON object or a form, `query:NAME`, or `fixed:MODEL` for "
         "all requests."},
        route.model, TextForm{});
  visit({"cost",
         "Memory of the engine that a request needs. free: none, so it waits for nobody. prompt: its text in `fields`. "
         "tokens: always `tokens`."},
        route.cost, ChoiceForm{kRouteCostNames});
  visit({"fields", "Fields of the JSON body that hold the prompt. For `cost: prompt`."}, route.fields, TextsForm{});
  visit({"tokens", "Tokens of each request. For `cost: tokens`."}, route.tokens, CountForm{1, 10'000'000});
}

inline SectionDoc DocOf(const CorsConfig&) { return {"cors", "Pages of other origins that may read answers."}; }

template <Of<CorsConfig> Section, class Visitor>
void VisitFields(Section& cors, Visitor& visit) {
  visit({"origins", "Origins as scheme://host[:port], or `*` for all.", kRequired}, cors.origins, TextsForm{});
  visit({"headers", "Headers that a page may send. Left out: those that it asks for."}, cors.headers,
        HeaderNamesForm{});
  visit({"expose", "Further headers of answers that a page may read, beside the names of Penstock and of rate limits."},
        cors.expose, HeaderNamesForm{});
  visit({"credentials", "True: a page may send cookies and certificates. Not with the origin `*`."}, cors.credentials,
        FlagForm{});
  visit({"max_age", "Time for which a browser may hold the answer to its question."}, cors.max_age,
        TimeForm{Duration(), Duration::Seconds(86'400)});
}

inline SectionDoc DocOf(const CompressionConfig&) { return {"compression", "Compression of answers."}; }

template <Of<CompressionConfig> Section, class Visitor>
void VisitFields(Section& compression, Visitor& visit) {
  visit({"answers", "True: whole JSON answers of engines are in gzip for clients that accept it. Streams never are."},
        compression.answers, FlagForm{});
  visit({"above", "Smallest answer that is compressed."}, compression.above,
        SizeForm{Bytes(1'000), Bytes(int64_t{4} << 30)});
}

inline SectionDoc DocOf(const RealtimeConfig&) { return {"realtime", "WebSockets to engines (`/v1/realtime`)."}; }

template <Of<RealtimeConfig> Section, class Visitor>
void VisitFields(Section& realtime, Visitor& visit) {
  visit(
      {"connections",
       "Most WebSockets at a time; 0: none. One tenant, or one address without a configured key, has three quarters of "
       "them at most."},
      realtime.connections, CountForm{0, 100'000});
  visit({"idle", "A WebSocket ends after this time without a byte."}, realtime.idle,
        TimeForm{Duration::Seconds(1), Duration::Seconds(86'400)});
  visit({"time", "Longest time of a WebSocket."}, realtime.time,
        TimeForm{Duration::Seconds(1), Duration::Seconds(7 * 86'400)});
  visit({"tokens", "KV tokens of the engine that a WebSocket reserves until its end."}, realtime.tokens,
        CountForm{1, 10'000'000});
}

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_CLIENT_KEYS_H_
