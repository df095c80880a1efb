// Sequences and single steps for tests of the step machine.
#ifndef PENSTOCK_TESTS_SIMULATED_STEP_MACHINE_STEPS_H_
#define PENSTOCK_TESTS_SIMULATED_STEP_MACHINE_STEPS_H_

#include "backends/simulated/machine/step_machine.h"

namespace penstock::simulated {

// An engine with a pool of so many tokens.
inline EngineLimits Pool(int64_t tokens) {
  EngineLimits limits;
  limits.kv_tokens = Tokens(tokens);
  limits.batch_budget = Tokens(512);
  return limits;
}

// A sequence with so many prompt and output tokens.
inline Sequence Of(SequenceId id, int64_t prompt, int64_t output) {
  Sequence sequence;
  sequence.id = id;
  sequence.prompt = Tokens(prompt);
  sequence.output = Tokens(output);
  return sequence;
}

// The work and the outcome of one step.
struct Step {
  StepLoad load;
  StepOutcome outcome;
};

inline Step OneStep(StepMachine& machine) {
  Step step;
  step.load = machine.BeginStep();
  step.outcome = machine.EndStep();
  return step;
}

}  // namespace penstock::simulated

#endif  // PENSTOCK_TESTS_SIMULATED_STEP_MACHINE_STEPS_H_
