#include "app/top/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/top/terminal.h"
#include "app/top/top_state.h"
#include "app/top/top_text.h"
#include "base/harmless.h"

namespace penstock::top {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

json Replica(const std::string& name, const std::string& health, int running, double pace) {
  return {{"name", name},       {"model", "llama"}, {"health", health},         {"residency", "awake"},
          {"running", running}, {"prefilling", 0},  {"observed_step_s", 0.025}, {"pace", pace},
          {"tokens_per_s", 40}, {"preemptions", 0}};
}

// The state of two replicas on one GPU of 80 GB.
json SampleJson() {
  json state;
  state["fleet"] = {{"router", {{"version", "1.0"}, {"policy", "penstock"}, {"uptime_s", 61}, {"draining", false}}},
                    {"configuration", {{"last_error", ""}}},
                    {"tokens", {{"active_per_s", {10, 4000}}, {"late_per_s", {0, 7}}, {"wasted_per_s", {0, 0}}}},
                    {"gpu_time", {{"seconds", {{"productive", 60.0}, {"idle", 140.0}}}, {"productive_gpu_hours", 0.5}}},
                    {"replicas_total", 2}};
  state["fleet"]["replicas"] = {Replica("b-slow", "up", 3, 0.5), Replica("a-down", "down", 12, 1)};
  state["fleet"]["pools"] = {
      {{"name", "p"}, {"unit", "bytes"}, {"capacity", 20e9}, {"held", 10e9}, {"draining", 0}, {"promised", 15e9}}};
  state["fleet"]["gpus"] = {
      {{"id", "gpu0"},
       {"kind", "h100"},
       {"memory_bytes", 80e9},
       {"parts", {{{"weights_bytes", 40e9}, {"pool", "p"}}, {{"weights_bytes", nullptr}, {"pool", "p"}}}}}};
  state["requests"] = {{"running_total", 15}, {"waiting_total", 2}, {"decisions", json::array()}};
  state["requests"]["waiting"] = {{{"request", "r1\x1b[31m"},
                                   {"class", "standard"},
                                   {"position", nullptr},
                                   {"age_s", 1.5},
                                   {"expected_start_s", 3.0},
                                   {"reason", "memory"},
                                   {"tenant", ""},
                                   {"model", "llama"}}};
  state["tenants"] = {{"tenants", json::array()}};
  return state;
}

TopState Sample() {
  const auto state = ReadState(SampleJson().dump());
  EXPECT_TRUE(state.ok()) << state.status();
  return state.ok() ? *state : TopState();
}

std::vector<std::string> TextsOf(const std::vector<Line>& lines) {
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(line.text);
  return texts;
}

const Link kLive = {"http://router", 0.5, ""};

TEST(TopScreen, FitsEveryTerminal) {
  for (const int columns : {1, 20, 40, 80, 200}) {
    for (const int rows : {1, 2, 5, 24, 60}) {
      for (const char* panel : {"r", "w", "t", "d"}) {
        TopView view;
        OnKey(panel, view);
        const std::vector<Line> lines = Draw(Sample(), kLive, view, {columns, rows});
        EXPECT_EQ(lines.size(), static_cast<size_t>(rows));
        for (const Line& line : lines) EXPECT_LE(ColumnsOf(line.text), columns) << line.text;
      }
    }
  }
}

TEST(TopScreen, ShowsTheSummaryTheGpusAndTheReplicas) {
  TopView view;
  const std::vector<std::string> texts = TextsOf(Draw(Sample(), kLive, view, {80, 24}));
  EXPECT_THAT(texts, Contains(HasSubstr("active 4000 late 7 wasted 0   run 15 wait 2 up 1/2")));
  // Half of the memory is weights, an eighth KV in use.
  EXPECT_THAT(texts, Contains(HasSubstr("▓▓▓▓████")));
  EXPECT_THAT(texts, Contains("GPU time idle 70% productive 30%, 0.50 productive hours"));
  EXPECT_THAT(texts, Contains(HasSubstr("b-slow")));
}

TEST(TopScreen, PutsPoliciesUnderTheSameTrafficBesideEachOther) {
  json state = SampleJson();
  state["fleet"]["comparison"] = {
      {{"policy", "penstock"}, {"requests", 200}, {"on_time", 198}, {"active_per_s", 4000}, {"ttft_p99_s", 0.75}},
      {{"policy", "round_robin"}, {"requests", 0}, {"on_time", 0}, {"active_per_s", 0}, {"ttft_p99_s", nullptr}}};
  TopView view;
  const std::vector<Line> lines = Draw(*ReadState(state.dump()), Link{"http://h:1", 0, ""}, view, {80, 24});
  EXPECT_EQ(lines[2].text, "penstock       on time  99.0%  active  4000 tok/s  TTFT p99 0.8 s");
  EXPECT_EQ(lines[3].text, "round_robin    on time   0.0%  active     0 tok/s  TTFT p99 -");
}

TEST(TopScreen, ShowsThePolicyInTheShadowInALine) {
  json state = SampleJson();
  state["shadow"] = {{"configured", true},
                     {"shadow", "penstock"},
                     {"agreement_share", 0.5},
                     {"compared", 40},
                     {"counterfactual", {{"worth_on_time_share", 0.25}, {"worth_active_per_s", -30.0}}}};
  TopView view;
  EXPECT_THAT(TextsOf(Draw(*ReadState(state.dump()), kLive, view, {100, 30})),
              Contains("shadow penstock agrees on 50% of 40, worth +25.0 points on time, -30 active tok/s"));
  state["shadow"] = {{"configured", false}};
  EXPECT_THAT(TextsOf(Draw(*ReadState(state.dump()), kLive, view, {100, 30})), Each(Not(HasSubstr("shadow"))));
}

TEST(TopScreen, MarksWhatIsDownOrSlow) {
  TopView view;
  for (const Line& line : Draw(Sample(), kLive, view, {80, 24})) {
    if (line.text.find("a-down") == 0) EXPECT_EQ(line.style, Style::kBad);
    if (line.text.find("b-slow") == 0) EXPECT_EQ(line.style, Style::kWarn);
  }
}

TEST(TopScreen, AReplicaOnASickNodeIsNotJustUp) {
  const auto health_with = [](const char* field, const json& value) {
    json state = SampleJson();
    state["fleet"]["replicas"][0]["pace"] = 1.0;
    state["fleet"]["replicas"][0][field] = value;
    const TopState top = *ReadState(state.dump());
    const Row& row = top.tables[static_cast<size_t>(Panel::kReplicas)].rows[0];
    return std::make_pair(row.cells[1].text, row.tone);
  };
  EXPECT_EQ(health_with("node_closed", true), std::make_pair(std::string("node closed"), Tone::kBad));
  EXPECT_EQ(health_with("node_derate", 1.5), std::make_pair(std::string("node 1.5x"), Tone::kWarn));
  EXPECT_EQ(health_with("storage_pressure", 0.8), std::make_pair(std::string("disk 80%"), Tone::kWarn));
  EXPECT_EQ(health_with("derate", 4.0), std::make_pair(std::string("4.0x slow"), Tone::kWarn));
  EXPECT_EQ(health_with("stalled", true), std::make_pair(std::string("stands still"), Tone::kBad));
  EXPECT_EQ(health_with("storage_pressure", 0.2), std::make_pair(std::string("up"), Tone::kPlain));
}

TEST(TopScreen, CountsThePoolsWithStrandedMemory) {
  json state = SampleJson();
  EXPECT_THAT(ReadState(state.dump())->gpu_time, Not(HasSubstr("stranded")));
  state["fleet"]["pools"][0]["stranded"] = 5e9;
  EXPECT_THAT(ReadState(state.dump())->gpu_time, HasSubstr("KV stranded on 1"));
}

TEST(TopScreen, SortsByTheChosenColumnAndTurns) {
  const auto order = [](TopView& view) {
    std::vector<std::string> names;
    for (const Line& line : Draw(Sample(), kLive, view, {80, 24})) {
      if (line.text.find("a-down") == 0 || line.text.find("b-slow") == 0) names.push_back(line.text.substr(0, 6));
    }
    return names;
  };
  TopView view;
  EXPECT_THAT(order(view), ElementsAre("b-slow", "a-down"));
  OnKey("s", view);
  EXPECT_THAT(order(view), ElementsAre("a-down", "b-slow"));
  OnKey("S", view);
  EXPECT_THAT(order(view), ElementsAre("b-slow", "a-down"));
  // Behind the last column comes the router's own order.
  for (int i = 0; i < 9; ++i) {
    OnKey("s", view);
    order(view);
  }
  EXPECT_EQ(view.sort, -1);
}

TEST(TopScreen, FiltersByWhatIsTyped) {
  TopView view;
  for (const char* key : {"/", "S", "l", "o", "w", "\r"}) OnKey(key, view);
  EXPECT_EQ(view.filter, "Slow");
  const std::vector<std::string> texts = TextsOf(Draw(Sample(), kLive, view, {80, 24}));
  EXPECT_THAT(texts, Contains(HasSubstr("b-slow")));
  EXPECT_THAT(texts, ::testing::Not(Contains(HasSubstr("a-down"))));
  OnKey("\x1b", view);
  EXPECT_EQ(view.filter, "");
}

TEST(TopScreen, SaysHowOldLostDataIs) {
  TopView view;
  const std::vector<Line> lost = Draw(Sample(), {"http://router", 12, "connection refused"}, view, {80, 24});
  EXPECT_EQ(lost.front().style, Style::kBad);
  EXPECT_THAT(lost.front().text, HasSubstr("LOST, data is 12 s old: connection refused"));
  const std::vector<Line> never = Draw(TopState(), {"http://router", -1, "connection refused"}, view, {80, 24});
  EXPECT_THAT(never.front().text, HasSubstr("http://router  connection refused"));
}

TEST(TopScreen, ScrollsNoFurtherThanThereAreRows) {
  TopView view;
  for (int i = 0; i < 50; ++i) OnKey("j", view);
  Draw(Sample(), kLive, view, {80, 24});
  EXPECT_EQ(view.scroll, 0u);
}

TEST(TopScreen, PlainLinesHaveTheSameFigures) {
  EXPECT_EQ(PlainLine(Sample()),
            "up 61 s  active 4000 tok/s  late 7  wasted 0  running 15  waiting 2  replicas 1/2  gpu0 KV 50%/75%");
}

TEST(TopState, RefusesWhatIsNoState) {
  for (const char* bad : {"", "{}", "[]", "<html>", R"({"fleet":{},"requests":{},"tenants":{}})"}) {
    EXPECT_EQ(ReadState(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(TopText, NamesCannotSteerTheTerminal) {
  EXPECT_EQ(Harmless("a\x1b]0;title\x07z"), "a?]0;title?z");
  EXPECT_EQ(Harmless("\xe2\x80\xaetxt\xff"), "?txt?");
  const TopState state = Sample();
  EXPECT_EQ(state.tables[static_cast<size_t>(Panel::kQueue)].rows[0].cells[0].text, "r1?[31m");
}

TEST(TopText, CountsColumnsNotBytes) {
  EXPECT_EQ(ColumnsOf("模型a"), 5);
  EXPECT_EQ(Cut("模型a", 4), "模~");
  EXPECT_EQ(Fit("ab", 4), "ab  ");
  EXPECT_EQ(Fit("ab", 4, true), "  ab");
  EXPECT_EQ(Fit("abcdef", 4), "abc~");
}

TEST(TerminalKeys, AreSingleOrWholeSequences) {
  EXPECT_THAT(KeysOf("q\x1b[A\x1b[6~/\x1b"), ElementsAre("q", "\x1b[A", "\x1b[6~", "/", "\x1b"));
}

}  // namespace
}  // namespace penstock::top
