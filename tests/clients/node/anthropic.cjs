const Anthropic = require("@anthropic-ai/sdk");
const { url, model, question, gate, tooLong, errorOf, secondsOf, serve } = require("./checks.cjs");

const client = new Anthropic({ baseURL: url, apiKey: "any", maxRetries: 0, timeout: 30000 });
const limited = new Anthropic({ baseURL: url, apiKey: "limited", maxRetries: 1, timeout: 30000 });
const messages = [{ role: "user", content: question }];
const tools = [{ name: gate.name, description: gate.description, input_schema: gate.schema }];
const create = (more, by = client) => by.messages.create({ model, messages, max_tokens: 8, ...more });

serve({
  chat: async () => {
    const answer = await create();
    return { text: answer.content[0].text, tokens: answer.usage.output_tokens };
  },
  stream: async () => {
    const pieces = [];
    const stream = client.messages.stream({ model, messages, max_tokens: 8 }).on("text", (piece) => pieces.push(piece));
    return { text: await stream.finalText(), pieces: pieces.length };
  },
  tool: async () => {
    const answer = await create({ tools, tool_choice: { type: "any" }, max_tokens: 64 });
    const call = answer.content.find((block) => block.type === "tool_use");
    return { name: call.name, arguments: call.input };
  },
  missing_model: () => errorOf(() => create({ model: "no-such-model" })),
  bad_request: () => errorOf(() => create({ messages: [{ role: "user", content: tooLong }] })),
  retry: () => secondsOf(() => create({}, limited)),
});
