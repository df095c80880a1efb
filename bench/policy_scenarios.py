"""The scenarios of bench/policies.py: a fleet of bench/scenarios/ with two windows of a trace each."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "bench/scenarios"
TRACES = pathlib.Path(os.environ.get("PENSTOCK_TRACES", ROOT.parent / "shared/traces"))


class Window:
    """A piece of a trace: the recorded file where it is at hand, else a generated workload of its kind."""

    def __init__(self, trace, start, generated, seconds=300, shift=60, least=0):
        recorded = TRACES / trace if trace else None
        self.recorded = recorded is not None and recorded.exists()
        self.trace = str(recorded) if self.recorded else f"generate:{generated}"
        self.start = start if self.recorded else start % 3000
        self.seconds = seconds
        self.least = least  # A shorter piece says nothing: too few requests arrive in it.
        # Seeds of a search begin so much later each. A seed changes a generated workload anyway.
        self.shift = shift if self.recorded else 0
        self.name = f"{trace.split('.')[0]} from {start} s" if self.recorded else f"{generated} from {self.start} s"

    def length(self, part):
        return max(self.seconds * part, self.least)


class Scenario:
    def __init__(self, name, windows, heavy=False, extra=(), more=False):
        self.name = name
        self.fleet = next(SCENARIOS.rglob(f"{name}.yaml"))
        self.windows = windows
        self.heavy = heavy  # Long windows: rivals at their defaults, carried load of the strongest only.
        self.extra = list(extra)  # Flags of every run.
        self.more = more  # The yardstick with more rules is run too: parking, one copy per time-sliced GPU.


STEADY = "servegen_mlarge_steady1h_a.csv.gz"
BURSTY = "servegen_mlarge_bursty1h_a.csv.gz"
MIX = "servegen_mlarge_burstymix1h_a.csv.gz"
CONVERSATION = "azure23_conv_a.csv"
RAG = "ragpulse_days0-3_a.csv.gz"
ALL = [
    # The headline: one copy per time-sliced GPU. `tight` has two of them on each, and stays as a warning.
    Scenario("one-copy", [Window(CONVERSATION, 0, "azure-conv"), Window(BURSTY, 2400, "chat")], more=True),
    Scenario("mps", [Window(CONVERSATION, 0, "azure-conv"), Window(BURSTY, 2400, "chat")]),
    Scenario("ample", [Window(STEADY, 0, "chat"), Window(MIX, 0, "chat")]),
    Scenario("tight", [Window(CONVERSATION, 0, "azure-conv"), Window(BURSTY, 2400, "chat")], more=True),
    Scenario("tight6", [Window(CONVERSATION, 0, "azure-conv"), Window(BURSTY, 2400, "chat")]),
    Scenario("elastic", [Window(None, 0, "antiphase"), Window(None, 400, "antiphase")]),
    Scenario("multi-model", [Window("servegen_multimodel_1h_a.csv.gz", 0, "multi-model"),
                             Window("servegen_multimodel_1h_a.csv.gz", 1800, "multi-model")], more=True),
    Scenario("long-context", [Window("mooncake_conversation_a.csv.gz", 0, "documents", least=300),
                              Window("mooncake_synthetic_a.csv.gz", 0, "documents", shift=4, least=300)]),
    Scenario("agentic", [Window("cc_agentic_6h_a.csv.gz", 9000, "agentic"),
                         Window("cc_agentic_6h_a.csv.gz", 14000, "agentic")]),
    Scenario("reasoning", [Window("servegen_r1_4h_a.csv.gz", 0, "reasoning", 2400),
                           Window("servegen_r1_4h_a.csv.gz", 7200, "reasoning", 2400)], heavy=True, more=True),
    Scenario("long-prompts", [Window(None, 0, "long-prompts"), Window(None, 500, "long-prompts")]),
    Scenario("mixture", [Window(None, 0, "mixture"), Window(None, 500, "mixture")]),
    Scenario("giants", [Window(None, 0, "giants", 500), Window(None, 0, "giants", 250)]),
    Scenario("code", [Window("azure23_code_a.csv", 0, "azure-code"), Window("azure23_code_a.csv", 800, "azure-code")]),
    Scenario("bursts", [Window(None, 0, "bursts"), Window(None, 500, "bursts")]),
    Scenario("slow", [Window(STEADY, 0, "chat"), Window(MIX, 0, "chat")]),
    Scenario("flood", [Window(None, 0, "flood"), Window(None, 300, "flood")]),
    Scenario("mixed", [Window(STEADY, 600, "chat"), Window(MIX, 1200, "chat")]),
    # Four days of questions, one in 79 s: searches go to some hundred times its rate.
    Scenario("rag", [Window(RAG, 0, "rag", shift=3600), Window(RAG, 172800, "rag", shift=3600)]),
    Scenario("two-classes", [Window(None, 0, "two-classes"), Window(None, 500, "two-classes")]),
    Scenario("three-classes", [Window(None, 0, "three-classes"), Window(None, 500, "three-classes")]),
    Scenario("limits", [Window(None, 0, "limits"), Window(None, 500, "limits")]),
    Scenario("impatient", [Window(None, 0, "impatient"), Window(None, 500, "impatient")]),
    Scenario("biased", [Window(STEADY, 0, "chat"), Window(MIX, 0, "chat")], extra=["--prompt-bias", "0.1"]),
    Scenario("host-time", [Window(CONVERSATION, 0, "azure-conv"), Window(BURSTY, 2400, "chat")]),
]
REDUCED = [
    Scenario("tight", [Window(None, 0, "azure-conv", 90)]),
    Scenario("mixed", [Window(None, 0, "chat", 90)]),
    Scenario("elastic", [Window(None, 0, "antiphase", 150)]),
]
