const { OpenAI, toFile } = require("openai");
const { setTimeout: pause } = require("node:timers/promises");
const { url, model, question, gate, tooLong, errorOf, secondsOf, serve } = require("./checks.cjs");

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0, timeout: 30000 });
const limited = new OpenAI({ baseURL: `${url}/v1`, apiKey: "limited", maxRetries: 1, timeout: 30000 });
const messages = [{ role: "user", content: question }];
const tools = [{ type: "function", function: { name: gate.name, description: gate.description, parameters: gate.schema } }];
const create = (more, by = client) => by.chat.completions.create({ model, messages, max_tokens: 8, ...more });

serve({
  chat: async () => {
    const answer = await create();
    return { text: answer.choices[0].message.content, tokens: answer.usage.completion_tokens };
  },
  stream: async () => {
    const pieces = [];
    for await (const chunk of await create({ stream: true })) pieces.push(chunk.choices[0]?.delta.content ?? "");
    return { text: pieces.join(""), pieces: pieces.filter(Boolean).length };
  },
  tool: async () => {
    const answer = await create({ tools, tool_choice: "required", max_tokens: 64 });
    const call = answer.choices[0].message.tool_calls[0];
    return { name: call.function.name, arguments: JSON.parse(call.function.arguments) };
  },
  missing_model: () => errorOf(() => create({ model: "no-such-model" })),
  bad_request: () => errorOf(() => create({ messages: [{ role: "user", content: tooLong }] })),
  retry: () => secondsOf(() => create({}, limited)),
  job: async () => {
    const body = { model, messages, max_tokens: 8 };
    const lines = ["a", "b"].map((custom_id) => JSON.stringify({ custom_id, method: "POST", url: "/v1/chat/completions", body }));
    const upload = await toFile(Buffer.from(lines.join("\n") + "\n"), "in.jsonl");
    const file = await client.files.create({ file: upload, purpose: "batch" });
    const asked = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    let batch = await client.batches.create(asked);
    while (!["completed", "failed", "expired", "cancelled"].includes(batch.status)) {
      await pause(50);
      batch = await client.batches.retrieve(batch.id);
    }
    const text = await (await client.files.content(batch.output_file_id)).text();
    await client.files.delete(file.id);
    const rows = text.trim().split("\n").map(JSON.parse);
    const texts = rows.map((row) => [row.custom_id, row.response.body.choices[0].message.content]);
    return { status: batch.status, texts: Object.fromEntries(texts) };
  },
});
