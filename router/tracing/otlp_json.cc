#include "router/tracing/otlp_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStatusError = 2;

Json ValueOf(const std::string& text) { return {{"stringValue", text}}; }
Json ValueOf(int64_t number) { return {{"intValue", absl::StrCat(number)}}; }
Json ValueOf(double number) { return {{"doubleValue", number}}; }
Json ValueOf(bool flag) { return {{"boolValue", flag}}; }
Json ValueOf(const std::vector<std::string>& texts) {
  Json values = Json::array();
  for (const std::string& text : texts) values.push_back(ValueOf(text));
  return {{"arrayValue", {{"values", std::move(values)}}}};
}

Json AttributesOf(const SpanAttributes& attributes) {
  Json list = Json::array();
  for (const SpanAttribute& attribute : attributes) {
    Json value = std::visit([](const auto& given) { return ValueOf(given); }, attribute.value);
    list.push_back({{"key", attribute.key}, {"value", std::move(value)}});
  }
  return list;
}

std::string Nanoseconds(Instant at, int64_t lead) { return absl::StrCat(at.nanoseconds() + lead); }

Json EventsOf(const std::vector<SpanEvent>& events, int64_t lead) {
  Json list = Json::array();
  for (const SpanEvent& event : events) {
    list.push_back({{"timeUnixNano", Nanoseconds(event.at, lead)},
                    {"name", event.name},
                    {"attributes", AttributesOf(event.attributes)}});
  }
  return list;
}

Json SpanOf(const EndedTrace& trace, const Span& span, int64_t lead) {
  Json json = {{"traceId", HexOf(trace.trace)}, {"spanId", HexOf(span.id)}};
  if (span.parent.valid()) json["parentSpanId"] = HexOf(span.parent);
  if (!trace.state.empty()) json["traceState"] = trace.state;
  json["flags"] = trace.flags;
  json["name"] = span.name;
  json["kind"] = static_cast<int>(span.kind);
  json["startTimeUnixNano"] = Nanoseconds(span.start, lead);
  json["endTimeUnixNano"] = Nanoseconds(std::max(span.start, span.end), lead);
  json["attributes"] = AttributesOf(span.attributes);
  if (!span.events.empty()) json["events"] = EventsOf(span.events, lead);
  if (span.failed) json["status"] = {{"code", kStatusError}, {"message", span.message}};
  return json;
}

}  // namespace

std::string OtlpJson(const TraceResource& resource, const std::vector<TimedTrace>& traces) {
  Json spans = Json::array();
  for (const TimedTrace& timed : traces) {
    for (const Span& span : timed.trace.spans) spans.push_back(SpanOf(timed.trace, span, timed.wall_lead));
  }
  const SpanAttributes sender = {{"service.name", resource.service_name},
                                 {"service.version", resource.version},
                                 {"service.instance.id", resource.instance}};
  Json scope = {{"scope", {{"name", "penstock"}, {"version", resource.version}}}, {"spans", std::move(spans)}};
  Json of_sender = {{"resource", {{"attributes", AttributesOf(sender)}}}};
  of_sender["scopeSpans"] = Json::array();
  of_sender["scopeSpans"].push_back(std::move(scope));
  Json body = Json::object();
  body["resourceSpans"] = Json::array();
  body["resourceSpans"].push_back(std::move(of_sender));
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t RejectedSpans(absl::string_view answer) {
  const Json json = Json::parse(answer.begin(), answer.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("partialSuccess") || !json["partialSuccess"].is_object()) return 0;
  const Json& part = json["partialSuccess"];
  if (!part.contains("rejectedSpans")) return 0;
  const Json& rejected = part["rejectedSpans"];
  int64_t count = 0;
  if (rejected.is_number_integer()) count = rejected.get<int64_t>();
  if (rejected.is_string() && !absl::SimpleAtoi(rejected.get_ref<const std::string&>(), &count)) count = 0;
  return std::max<int64_t>(0, count);
}

}  // namespace penstock
