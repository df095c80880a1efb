// Runs the checks whose names come as lines on stdin, and prints one line of JSON for each.
const readline = require("node:readline");

exports.url = process.env.PENSTOCK_URL;
exports.model = process.env.PENSTOCK_MODEL;
exports.question = "What does a penstock do?";
exports.gate = {
  name: "open_gate",
  description: "Opens the gate by so many centimetres.",
  schema: { type: "object", properties: { centimetres: { type: "integer" } }, required: ["centimetres"] },
};
exports.tooLong = "river ".repeat(20000);

// The class and the status of the error that a call ends with.
exports.errorOf = async (call) => {
  try {
    await call();
  } catch (error) {
    return { error: error.constructor.name, status: error.status ?? error.statusCode };
  }
  throw new Error("the call succeeded");
};

exports.secondsOf = async (call) => {
  const began = performance.now();
  await call();
  return { seconds: (performance.now() - began) / 1000 };
};

exports.serve = async (checks) => {
  for await (const check of readline.createInterface({ input: process.stdin })) {
    let result;
    try {
      result = await checks[check]();
    } catch (error) {
      result = { failed: String(error?.stack ?? error) };
    }
    console.log(JSON.stringify({ check, ...result }));
  }
};
