const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { generateText, streamText, tool, jsonSchema } = require("ai");
const { url, model, question, gate, tooLong, errorOf, secondsOf, serve } = require("./checks.cjs");

const provider = (apiKey) => createOpenAICompatible({ name: "penstock", baseURL: `${url}/v1`, apiKey });
const asked = { model: provider("any")(model), prompt: question, maxOutputTokens: 8, maxRetries: 0 };

serve({
  chat: async () => {
    const { text, usage } = await generateText(asked);
    return { text, tokens: usage.outputTokens };
  },
  stream: async () => {
    const pieces = [];
    for await (const piece of streamText(asked).textStream) pieces.push(piece);
    return { text: pieces.join(""), pieces: pieces.length };
  },
  tool: async () => {
    const tools = { [gate.name]: tool({ description: gate.description, inputSchema: jsonSchema(gate.schema) }) };
    const { toolCalls } = await generateText({ ...asked, tools, toolChoice: "required", maxOutputTokens: 64 });
    return { name: toolCalls[0].toolName, arguments: toolCalls[0].input };
  },
  missing_model: () => errorOf(() => generateText({ ...asked, model: provider("any")("no-such-model") })),
  bad_request: () => errorOf(() => generateText({ ...asked, prompt: tooLong })),
  retry: () => secondsOf(() => generateText({ ...asked, model: provider("limited")(model), maxRetries: 1 })),
});
