#include "app/simulate/html_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "config/text/units_text.h"

namespace penstock {
namespace {

using Slice = RunSeries::Slice;

// The size of a plot, in the units of its view box.
constexpr double kWidth = 860;
constexpr double kHeight = 190;
constexpr double kLeft = 64;
constexpr double kTop = 10;
constexpr double kBottom = 30;
constexpr int kTicks = 4;

constexpr char kStyle[] = R"(<style>
:root { color-scheme: light dark; --ink: #1b1f24; --faint: #8b949e66; --a: #1f6feb; --b: #d1570a; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --a: #6cb0ff; --b: #ffa657; --paper: #0d1117; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 900px;
  margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.3em; } h2 { font-size: 1em; margin: 1.6em 0 0.2em; }
svg { width: 100%; height: auto; display: block; } pre { overflow-x: auto; font-size: 13px; }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } .grid { stroke: var(--faint); stroke-width: 1; }
.a, .b { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; } .a { stroke: var(--a); }
.b { stroke: var(--b); stroke-dasharray: 6 3; } .key { font-size: 13px; margin: 0; }
.key b { font-weight: 600; } .key .ka { color: var(--a); } .key .kb { color: var(--b); }
</style>
)";

struct Line {
  const char* name;
  std::function<double(const Slice&)> value;  // Below 0: a gap.
};

struct Plot {
  const char* title;
  const char* unit;
  Line first;
  Line second;
};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// The smallest of 1, 2, 2.5 and 5 times a power of ten that kTicks steps of which reach `most`.
double StepFor(double most) {
  if (most <= 0) return 1.0 / kTicks;
  const double raw = most / kTicks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

// Writes one plot over the time of the slices.
class PlotWriter {
 public:
  PlotWriter(const Plot& plot, const HtmlReport& report) : plot_(plot), report_(report) {
    double most = 0;
    for (const Slice& slice : report.slices) most = std::max({most, plot.first.value(slice), plot.second.value(slice)});
    step_ = StepFor(most);
  }

  std::string Text() const {
    std::string text = absl::StrFormat("<h2>%s</h2>\n<p class=\"key\"><b class=\"ka\">&#9473;&#9473; %s</b>",
                                       plot_.title, plot_.first.name);
    absl::StrAppendFormat(&text, " &nbsp; <b class=\"kb\">&#9476;&#9476; %s</b>, %s</p>\n", plot_.second.name,
                          plot_.unit);
    absl::StrAppendFormat(&text, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">\n", kWidth, kHeight,
                          plot_.title);
    absl::StrAppend(&text, Axes(), Path(plot_.first, "a"), Path(plot_.second, "b"), "</svg>\n");
    return text;
  }

 private:
  double X(size_t slice) const {
    return kLeft + (kWidth - kLeft - 10) * static_cast<double>(slice) / static_cast<double>(report_.slices.size());
  }
  double Y(double value) const { return kHeight - kBottom - (kHeight - kBottom - kTop) * value / (step_ * kTicks); }

  std::string Axes() const {
    std::string text;
    for (int i = 0; i <= kTicks; ++i) {
      absl::StrAppendFormat(&text, "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>", kLeft,
                            kWidth - 10, Y(i * step_), Y(i * step_));
      absl::StrAppendFormat(&text, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", kLeft - 6,
                            Y(i * step_) + 4, FormatNumber(std::round(i * step_ * 1e6) / 1e6));
    }
    for (size_t i = 0; i <= 6; ++i) {
      const size_t slice = i * report_.slices.size() / 6;
      absl::StrAppendFormat(&text, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"%s\">%.4g s</text>\n", X(slice),
                            kHeight - 8, i == 6 ? "end" : "middle",
                            report_.slice.seconds() * static_cast<double>(slice));
    }
    return text;
  }

  std::string Path(const Line& line, const char* style) const {
    std::string path;
    bool pen_down = false;
    for (size_t i = 0; i < report_.slices.size(); ++i) {
      const double value = line.value(report_.slices[i]);
      // A line of no length: a dot where its neighbours are gaps.
      if (value >= 0)
        absl::StrAppendFormat(&path, "%c%.1f %.1f%s", pen_down ? 'L' : 'M', X(i), Y(value), pen_down ? "" : "h0");
      pen_down = value >= 0;
    }
    return absl::StrFormat("<path class=\"%s\" d=\"%s\"><title>%s</title></path>\n", style, path, line.name);
  }

  const Plot& plot_;
  const HtmlReport& report_;
  double step_ = 1;
};

}  // namespace

std::string HtmlOf(const HtmlReport& report) {
  const double seconds = report.slice.seconds();
  const Plot plots[] = {
      {"Queue",
       "requests, and requests per second",
       {"waiting", [](const Slice& s) { return s.waiting; }},
       {"refused per second", [seconds](const Slice& s) { return s.refused / seconds; }}},
      {"Tokens per second",
       "of requests that finished, spread evenly over each answer",
       {"active", [seconds](const Slice& s) { return s.active_tokens / seconds; }},
       {"late", [seconds](const Slice& s) { return s.late_tokens / seconds; }}},
      {"KV memory in use",
       "per cent of a replica's",
       {"fullest replica", [](const Slice& s) { return s.fullest_memory < 0 ? -1 : 100 * s.fullest_memory; }},
       {"mean", [](const Slice& s) { return s.mean_memory < 0 ? -1 : 100 * s.mean_memory; }}},
      {"Stranded KV memory",
       "per cent of the fleet's: free, and no request that waits for memory fits",
       {"stranded", [](const Slice& s) { return 100 * s.stranded_memory; }},
       {"not in use", [](const Slice& s) { return s.mean_memory < 0 ? -1 : 100 * (1 - s.mean_memory); }}},
      {"Time to first token",
       "seconds, by arrival",
       {"median", [](const Slice& s) { return s.median_ttft; }},
       {"90th percentile", [](const Slice& s) { return s.slow_ttft; }}}};
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      Escaped(report.title), "</title>\n", kStyle, "</head>\n<body>\n<h1>", Escaped(report.title), "</h1>\n");
  for (const Plot& plot : plots) absl::StrAppend(&html, PlotWriter(plot, report).Text());
  absl::StrAppend(&html, "<h2>Figures</h2>\n<pre>", Escaped(report.table), "</pre>\n</body>\n</html>\n");
  return html;
}

}  // namespace penstock
