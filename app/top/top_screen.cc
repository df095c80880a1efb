#include "app/top/top_screen.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "app/top/top_text.h"

namespace penstock::top {
namespace {

constexpr size_t kLongestFilter = 40;
constexpr int kNarrowestFirst = 8;
// Columns of a terminal whose bars say something.
constexpr int kLeastForBars = 24;
// Rows of a terminal with room for the states of the GPUs.
constexpr int kLeastForTime = 20;
// Data that is older is marked as lost.
constexpr double kStale = 4;

constexpr absl::string_view kPanelKeys = "rwtdn";

const Table& TableOf(const TopState& state, Panel panel) { return state.tables[static_cast<size_t>(panel)]; }

void Show(Panel panel, TopView& view) {
  if (view.panel == panel) return;
  view.panel = panel;
  view.sort = -1;
  view.descending = false;
  view.scroll = 0;
}

void TypeFilter(absl::string_view key, TopView& view) {
  if (key == "\r" || key == "\n") {
    view.typing = false;
  } else if (key == "\x1b") {
    view.typing = false;
    view.filter.clear();
  } else if (key == "\x7f" || key == "\b") {
    if (!view.filter.empty()) view.filter.pop_back();
  } else if (key.size() == 1 && absl::ascii_isprint(static_cast<unsigned char>(key[0])) &&
             view.filter.size() < kLongestFilter) {
    view.filter += key[0];
  }
  view.scroll = 0;
}

// The columns that fit beside the first: the later ones go first.
std::vector<size_t> ColumnsThatFit(const Table& table, int columns, int& first_width) {
  std::vector<size_t> shown(1, 0);
  int used = kNarrowestFirst;
  for (size_t i = 1; i < table.columns.size(); ++i) {
    if (used + 1 + table.columns[i].width > columns) break;
    used += 1 + table.columns[i].width;
    shown.push_back(i);
  }
  first_width = std::min(kNarrowestFirst + columns - used, 36);
  return shown;
}

bool Matches(const Row& row, const std::string& filter) {
  if (filter.empty()) return true;
  return std::any_of(row.cells.begin(), row.cells.end(), [&](const Cell& cell) {
    return absl::StrContains(absl::AsciiStrToLower(cell.text), absl::AsciiStrToLower(filter));
  });
}

std::vector<const Row*> RowsOf(const Table& table, const TopView& view) {
  std::vector<const Row*> rows;
  for (const Row& row : table.rows) {
    if (Matches(row, view.filter)) rows.push_back(&row);
  }
  if (view.sort < 0 || static_cast<size_t>(view.sort) >= table.columns.size()) return rows;
  const auto by = static_cast<size_t>(view.sort);
  std::stable_sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) {
    const Cell& x = view.descending ? b->cells[by] : a->cells[by];
    const Cell& y = view.descending ? a->cells[by] : b->cells[by];
    return table.columns[by].number ? x.number < y.number : x.text < y.text;
  });
  return rows;
}

Style StyleOf(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return Style::kPlain;
    case Tone::kGood:
      return Style::kGood;
    case Tone::kWarn:
      return Style::kWarn;
    case Tone::kBad:
      return Style::kBad;
  }
  return Style::kPlain;
}

Line FirstLine(const TopState& state, const Link& link, int columns) {
  const bool lost = link.age < 0 || link.age > kStale || !link.error.empty();
  if (link.age < 0) return {Cut(absl::StrCat("penstock  ", link.url, "  ", link.error), columns), Style::kBad};
  std::string text = absl::StrCat("penstock ", state.version);
  if (lost) {
    absl::StrAppend(&text, "  LOST, data is ", Span(link.age), " old: ", link.error);
    return {Cut(text, columns), Style::kBad};
  }
  absl::StrAppend(&text, state.draining ? "  draining" : "", "  up ", Span(state.uptime), "  ", link.url);
  return {Cut(text, columns), state.draining ? Style::kWarn : Style::kTitle};
}

void AddSummary(const TopState& state, int columns, std::vector<Line>& lines) {
  const std::string tokens = absl::StrCat("tok/s active ", Short(state.active_per_s), " late ", Short(state.late_per_s),
                                          " wasted ", Short(state.wasted_per_s));
  const std::string requests =
      absl::StrFormat("run %d wait %d up %d/%d", state.running, state.waiting, state.replicas_up, state.replicas);
  if (ColumnsOf(tokens) + 3 + ColumnsOf(requests) <= columns) {
    lines.push_back({absl::StrCat(tokens, "   ", requests)});
  } else {
    lines.push_back({Cut(tokens, columns)});
    lines.push_back({Cut(requests, columns)});
  }
  if (!state.last_error.empty()) {
    lines.push_back({Cut(absl::StrCat("configuration refused: ", state.last_error), columns), Style::kBad});
  }
}

// The policies of a comparison, a line each.
void AddComparison(const TopState& state, Size size, std::vector<Line>& lines) {
  if (size.rows < 16) return;
  for (const Contestant& row : state.comparison) {
    const std::string ttft = row.ttft_p99 < 0 ? "-" : Span(row.ttft_p99);
    const std::string text = absl::StrFormat("%s on time %5.1f%%  active %5s tok/s  TTFT p99 %s", Fit(row.policy, 14),
                                             100 * row.on_time, Short(row.active_per_s), ttft);
    lines.push_back({Cut(text, size.columns), &row == &state.comparison.front() ? Style::kGood : Style::kPlain});
  }
}

std::string BarOf(const GpuBar& gpu, int cells) {
  const double taken = gpu.weights + gpu.held + gpu.promised + gpu.room;
  const double whole = std::max({gpu.memory, taken, 1.0});
  std::string bar;
  double end = 0;
  int drawn = 0;
  const std::pair<double, const char*> parts[] = {
      {gpu.weights, "▓"}, {gpu.held, "█"}, {gpu.promised, "▒"}, {gpu.room, "░"}, {whole - taken, "·"}};
  for (const auto& [size, mark] : parts) {
    end += size;
    const int until = static_cast<int>(std::lround(std::clamp(end / whole, 0.0, 1.0) * cells));
    for (; drawn < until; ++drawn) bar += mark;
  }
  return bar;
}

void AddGpus(const TopState& state, Size size, std::vector<Line>& lines) {
  if (size.rows < 12 || size.columns < kLeastForBars || state.gpus.empty()) return;
  const size_t most = std::min<size_t>(state.gpus.size(), static_cast<size_t>(std::max(1, size.rows / 5)));
  const int name = std::min(16, size.columns / 4);
  constexpr int kFigure = 9;
  for (size_t i = 0; i < most; ++i) {
    const GpuBar& gpu = state.gpus[i];
    const std::string figure = gpu.memory > 0 ? Memory(gpu.memory, true) : "?";
    lines.push_back({absl::StrCat(Fit(gpu.name, name), " ", BarOf(gpu, std::max(1, size.columns - name - kFigure - 2)),
                                  " ", Fit(figure, kFigure, /*right=*/true))});
  }
  std::string legend = "▓ weights █ KV ▒ promised ░ KV free";
  if (most < state.gpus.size()) legend = absl::StrCat(state.gpus.size() - most, " more GPUs  ", legend);
  lines.push_back({Cut(legend, size.columns), Style::kQuiet});
  if (!state.gpu_time.empty() && size.rows >= kLeastForTime) lines.push_back({Cut(state.gpu_time, size.columns)});
  if (!state.shadow.empty() && size.rows >= kLeastForTime) lines.push_back({Cut(state.shadow, size.columns)});
}

Line HeadOf(const Table& table, const TopView& view, const std::vector<size_t>& shown, int first) {
  std::string text;
  for (const size_t i : shown) {
    const Column& column = table.columns[i];
    std::string title = column.title;
    if (static_cast<int>(i) == view.sort) title += view.descending ? "-" : "+";
    absl::StrAppend(&text, i == 0 ? "" : " ", Fit(title, i == 0 ? first : column.width, column.number));
  }
  return {text, Style::kHead};
}

Line RowLine(const Table& table, const Row& row, const std::vector<size_t>& shown, int first) {
  std::string text;
  for (const size_t i : shown) {
    const Column& column = table.columns[i];
    absl::StrAppend(&text, i == 0 ? "" : " ", Fit(row.cells[i].text, i == 0 ? first : column.width, column.number));
  }
  return {text, StyleOf(row.tone)};
}

Line LastLine(const Table& table, const TopView& view, size_t shown, size_t of, int columns) {
  if (view.typing)
    return {Cut(absl::StrCat("filter: ", view.filter, "_  Enter keeps, Esc clears"), columns), Style::kHead};
  const std::string filter = view.filter.empty() ? std::string() : absl::StrCat(" \"", view.filter, "\"");
  const std::string keys = absl::StrCat(table.title, filter, " ", shown, "/", of,
                                        "  r w t d n panel  s sort  S turn  / filter  jk scroll  q quit");
  return {Fit(keys, columns), Style::kHead};
}

}  // namespace

void OnKey(absl::string_view key, TopView& view) {
  if (key == "\x03" || (key == "q" && !view.typing)) {
    view.quit = true;
  } else if (view.typing) {
    TypeFilter(key, view);
  } else if (key == "/") {
    view.typing = true;
  } else if (key == "\x1b") {
    view.filter.clear();
  } else if (key == "s") {
    ++view.sort;
  } else if (key == "S") {
    view.descending = !view.descending;
  } else if (key == "j" || key == "\x1b[B") {
    ++view.scroll;
  } else if ((key == "k" || key == "\x1b[A") && view.scroll > 0) {
    --view.scroll;
  } else if (key == " " || key == "\x1b[6~") {
    view.scroll += 10;
  } else if (key == "\x1b[5~") {
    view.scroll -= std::min<size_t>(10, view.scroll);
  } else if (key == "\t") {
    Show(static_cast<Panel>((static_cast<size_t>(view.panel) + 1) % kPanels), view);
  } else if (key.size() == 1 && kPanelKeys.find(key[0]) != absl::string_view::npos) {
    Show(static_cast<Panel>(kPanelKeys.find(key[0])), view);
  }
}

std::vector<Line> Draw(const TopState& state, const Link& link, TopView& view, Size size) {
  size.columns = std::max(1, size.columns);
  size.rows = std::max(1, size.rows);
  std::vector<Line> lines(1, FirstLine(state, link, size.columns));
  const Table& table = TableOf(state, view.panel);
  // A sort behind the last column is none.
  if (view.sort >= static_cast<int>(table.columns.size())) view.sort = -1;
  if (link.age >= 0 && size.rows > 3) {
    AddSummary(state, size.columns, lines);
    AddComparison(state, size, lines);
    AddGpus(state, size, lines);
  }
  int first = 0;
  const std::vector<size_t> shown = ColumnsThatFit(table, size.columns, first);
  if (link.age >= 0 && !table.columns.empty()) lines.push_back(HeadOf(table, view, shown, first));
  const std::vector<const Row*> rows = RowsOf(table, view);
  const auto room = static_cast<size_t>(std::max(0, size.rows - static_cast<int>(lines.size()) - 1));
  view.scroll = std::min(view.scroll, rows.size() - std::min(rows.size(), room));
  for (size_t i = view.scroll; i < rows.size() && i < view.scroll + room; ++i) {
    lines.push_back(RowLine(table, *rows[i], shown, first));
  }
  if (rows.empty() && room > 0 && link.age >= 0) lines.push_back({Cut(table.empty, size.columns), Style::kQuiet});
  lines.resize(static_cast<size_t>(size.rows));
  for (Line& line : lines) line.text = Cut(line.text, size.columns);
  lines.back() = LastLine(table, view, rows.size(), table.rows.size(), size.columns);
  return lines;
}

std::string PlainLine(const TopState& state) {
  std::string line =
      absl::StrFormat("up %s  active %s tok/s  late %s  wasted %s  running %d  waiting %d  replicas %d/%d",
                      Span(state.uptime), Short(state.active_per_s), Short(state.late_per_s), Short(state.wasted_per_s),
                      state.running, state.waiting, state.replicas_up, state.replicas);
  for (const GpuBar& gpu : state.gpus) {
    const double pools = gpu.held + gpu.promised + gpu.room;
    if (pools <= 0) continue;
    absl::StrAppendFormat(&line, "  %s KV %.0f%%/%.0f%%", gpu.name, 100 * gpu.held / pools,
                          100 * (gpu.held + gpu.promised) / pools);
  }
  return line;
}

}  // namespace penstock::top
